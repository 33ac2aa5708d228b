// TensorBoard's event files: curves and histograms over the steps of a run, read by
// `tensorboard --logdir FOLDER` while the run goes on.
//
//   formats::EventWriter events("runs/first");
//   events.scalar("loss", loss, step);
//   events.histogram("gradients/hidden.weight", grads[0], step);
//
// A file is a sequence of records: length (u64), masked CRC-32C of it (u32), a protobuf message
// Event, masked CRC-32C of that. Every record is handed to the system before the call returns: a
// run that is killed has lost nothing, and a reader never sees half a record for long.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace plimsoll::formats {

// Where the values of a tensor lie. Bucket i counts limits[i - 1] <= value < limits[i], the first
// everything below limits[0].
struct Histogram {
  double min = 0, max = 0;  // of the values that count, like all that follows
  double num = 0, sum = 0, sum_squares = 0;
  std::vector<double> limits{}, counts{};
  int64_t not_finite = 0;  // NaN and infinities: they are in no bucket
};

// In TensorFlow's buckets, of which neighbours without a value are joined: limits 1e-12 1.1^k below
// 1e20, their negatives, 0 and the largest number. For any dtype. Reads a copy of the tensor, in
// memory that no budget counts: StateError while its bytes are not there.
Histogram histogram(const Tensor& tensor);

class EventWriter {
 public:
  // Makes the folder, where it is missing, and in it a new file events.out.tfevents.TIME.HOST.
  // PROCESS.NUMBER, with the record that says which version of the format it is. DataError when
  // they cannot be made.
  explicit EventWriter(const std::filesystem::path& folder);

  // One point of the curve `tag`, which is kept as f32; "memory/peak" is the curve "peak" of the
  // group "memory". With the wall time of now. ValueError for a tag that is empty or not UTF-8,
  // with which no reader would read on; DataError when the disk is full.
  void scalar(const std::string& tag, double value, int64_t step);
  // One slice. What is not finite is left out; values that are all so give a histogram of nothing.
  void histogram(const std::string& tag, const Tensor& values, int64_t step);
  void histogram(const std::string& tag, const Histogram& values, int64_t step);

  // What files of the same folder have from this step on is not shown: the process that wrote it
  // was ended, and another does it again.
  void restart(int64_t step);

  const std::filesystem::path& file() const { return file_; }

 private:
  void write_value(const std::string& tag, const std::string& value, int64_t step);
  void write_record(const std::string& event);

  std::filesystem::path file_;
  std::ofstream out_;
};

}  // namespace plimsoll::formats
