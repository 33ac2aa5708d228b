// Of a simulated GPU: what was made and not destroyed.
#pragma once

namespace simulated {

int living_streams();
int living_events();

}  // namespace simulated
