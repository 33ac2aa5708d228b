#include "core/cuda/faults.cuh"
#include "core/engine/op.h"
#include "ops/common/rows.cuh"
#include "ops/indexing/embedding/kernels.h"

namespace plimsoll {
namespace {

using namespace cuda;
using namespace embedding_detail;

template <class C>
__global__ void embedding_kernel(Elements<C> table, Elements<int64_t> ids, int64_t rows,
                                 uint64_t* fault, Elements<C> y, int64_t features, bool packs) {
  const int64_t i = blockIdx.x, id = ids.get(i);
  const Row<C> to{y, i * features};
  if (id >= 0 && id < rows) {
    write_row(
        features, packs, to, [](int64_t, C v) { return v; }, Row<C>{table, id * features});
  } else {
    note_fault(fault, i, id);
    write_row(features, packs, to, [](int64_t) { return C(0); });
  }
}

// The gradient. Positions are sorted by the row that they looked up, in their order within a row.

// Ids out of range become `rows`, and so come last.
__global__ void keys_kernel(Elements<int64_t> ids, GradSizes sizes, uint64_t* fault,
                            uint32_t* keys) {
  for (int64_t i = first_index(); i < sizes.ids; i += total_threads()) {
    const int64_t id = ids.get(i);
    const bool good = id >= 0 && id < sizes.rows;
    if (!good) note_fault(fault, i, id);
    keys[i] = static_cast<uint32_t>(good ? id : sizes.rows);
  }
}

// starts[v] = the first place of row v or a higher one.
__global__ void starts_kernel(const uint32_t* keys, GradSizes sizes, int64_t* starts) {
  for (int64_t v = first_index(); v <= sizes.rows; v += total_threads()) {
    int64_t low = 0, high = sizes.ids;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (keys[middle] < v)
        low = middle + 1;
      else
        high = middle;
    }
    starts[v] = low;
  }
}

template <class C>
__device__ void add(typename Elements<C>::Several& total,
                    const typename Elements<C>::Several& values) {
  for (int j = 0; j < kTogether; ++j) total.at[j] += values.at[j];
}

// Sums over runs of sorted places. A row whose places lie in one run is done; of all others the
// run's share is left in sums [runs, 2, D]: in the first where the row has begun before or begins
// with the run, else in the second.
template <class C>
__global__ void sum_runs_kernel(Elements<C> dy, Sorted places, const int64_t* starts,
                                GradSizes sizes, int64_t run, bool packs, Elements<C> table,
                                Elements<C> sums) {
  const int64_t together = packs ? kTogether : 1;
  const int64_t tile = blockDim.x * together, tiles = (sizes.features + tile - 1) / tile;
  const int64_t column = blockIdx.x % tiles * tile + threadIdx.x * together;
  if (column >= sizes.features) return;
  const int64_t number = blockIdx.x / tiles, first = number * run;
  const int64_t end = sizes.ids < first + run ? sizes.ids : first + run;
  const FewColumns<C> from{dy, sizes.features, column, packs};
  for (int64_t place = first; place < end;) {
    const int64_t id = places.keys[place];
    if (id >= sizes.rows) break;
    const int64_t stop = starts[id + 1] < end ? starts[id + 1] : end;
    typename Elements<C>::Several total{};
    for (; place < stop; ++place) add<C>(total, from.get(places.positions[place]));
    if (starts[id] >= first && starts[id + 1] <= end)
      FewColumns<C>{table, sizes.features, column, packs}.set(id, total);
    else
      FewColumns<C>{sums, sizes.features, column, packs}.set(
          2 * number + (starts[id] > first ? 1 : 0), total);
  }
}

// The rows that are not done: those of several runs, and those that nobody looked up.
template <class C>
__global__ void sum_rows_kernel(const int64_t* starts, GradSizes sizes, int64_t run, bool packs,
                                Elements<C> sums, Elements<C> table) {
  const int64_t row = blockIdx.x, begin = starts[row], end = starts[row + 1];
  const int64_t first = begin / run, last = (end - 1) / run;
  if (begin < end && first == last) return;
  const int64_t together = packs ? kTogether : 1;
  for (int64_t column = threadIdx.x * together; column < sizes.features;
       column += blockDim.x * together) {
    const FewColumns<C> from{sums, sizes.features, column, packs};
    typename Elements<C>::Several total{};
    for (int64_t number = first; begin < end && number <= last; ++number)
      add<C>(total, from.get(2 * number + (number == first && begin % run != 0 ? 1 : 0)));
    FewColumns<C>{table, sizes.features, column, packs}.set(row, total);
  }
}

}  // namespace

void embedding_cuda(const Call& call) {
  const View &table = call.in[0], &ids = call.in[1], &y = call.out[0];
  const int64_t rows = table.shape()[0], features = table.shape()[1];
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch(embedding_kernel<C>, count(ids.shape()), row_threads(features), elements<C>(table),
           elements<int64_t>(ids), rows, fault_word(throw_bad_id, rows), elements<C>(y), features,
           in_packs(features, table, y));
  });
}

void embedding_grad_cuda(const Call& call) {
  const View &dy = call.in[0], &ids = call.in[1], &table = call.out[0];
  const GradSizes sizes{count(ids.shape()), table.shape()[0], table.shape()[1]};
  std::byte* const behind = call.workspace.data() + sizes.sums_bytes(table.dtype());
  int64_t* const starts = reinterpret_cast<int64_t*>(behind);
  std::byte* const scratch = behind + sizes.starts_bytes();
  if (sizes.ids > 0)
    launch(keys_kernel, blocks_for(sizes.ids), kThreads, elements<int64_t>(ids), sizes,
           fault_word(throw_bad_id, sizes.rows), keys_to_sort(scratch));
  const Sorted places = sort_keys(scratch, sizes.ids, sizes.rows + 1);
  launch(starts_kernel, blocks_for(sizes.rows + 1), kThreads, places.keys, sizes, starts);
  visit_floating_elements(table.dtype(), [&]<class C>() {
    const Elements<C> sums{call.workspace.data(), dtype_of<C>};
    const bool packs = in_packs(sizes.features, dy, table);
    const int threads = row_threads(sizes.features);
    const int64_t tiles = pieces(sizes.features, threads * (packs ? kTogether : 1));
    if (sizes.ids > 0)
      launch(sum_runs_kernel<C>, sizes.runs() * tiles, threads, elements<C>(dy), places, starts,
             sizes, sizes.run(), packs, elements<C>(table), sums);
    launch(sum_rows_kernel<C>, sizes.rows, threads, starts, sizes, sizes.run(), packs, sums,
           elements<C>(table));
  });
}

}  // namespace plimsoll
