// What saves say, whoever wrote them: a run on several ranks leaves other files than one process,
// and the same states.
//
//   EXPECT_TRUE(saved_text(one / "saves") == saved_text(four / "saves"));
#pragma once

#include "core/engine/call.h"
#include "train/saves.h"

namespace plimsoll::train {

inline std::string saved_text(const std::filesystem::path& folder) {
  std::string text;
  for (const Save& save : list_saves(folder)) {
    const formats::Shards state(save.file);
    text += cat(save.number, save.best ? " best" : "", "\n");
    for (const auto& [name, value] : state.metadata())
      if (name != "crc32") text += cat(name, " ", value, "\n");
    for (const std::string& name : state.names()) {
      const Tensor tensor = state.mapped(name);
      const View view = view_of(tensor.value());
      text += cat(name, " ", tensor.meta(), "\n");
      text.append(view.as<const char>(), static_cast<size_t>(bytes_of(view.meta)));
    }
  }
  return text;
}

}  // namespace plimsoll::train
