// Tensors on a GPU: values in and out, memory, errors, steps. Skipped by name where there is none;
// simulated_cuda_tests runs them everywhere.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/cuda/seam/cuda_queue.h"
#include "core/engine/apply.h"
#include "core/engine/trace.h"
#include "core/engine/transfer.h"
#include "data/images/builtin_images.h"
#include "data/loader.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "optim/clip.h"
#include "optim/loss_scaler.h"
#include "tests/support/errors.h"

namespace plimsoll {
namespace {

// Every test of this suite needs the device.
class CudaDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST(NoCudaDevice, EverythingSaysWhy) {
  const std::string why = why_no_cuda();
  if (why.empty()) GTEST_SKIP() << "there is a GPU";
  expect_error<DeviceError>([] { zeros({2}, {.device = Device::cuda}); }, why.c_str());
  expect_error<DeviceError>([] { to_device(zeros({2}), Device::cuda); }, why.c_str());
  EXPECT_EQ(default_pool(Device::cuda)->stats().reserved, 0);
}

TEST_F(CudaDevice, ValuesGoInAndComeBack) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32,
                            DType::u8, DType::boolean}) {
    const Tensor here = cast(Tensor::of<float>({0, 1, 2, 3, 4, 5}, {2, 3}), dtype);
    const Tensor there = to_device(here, Device::cuda);
    EXPECT_EQ(there.meta(), (Meta{{2, 3}, dtype, Device::cuda}));
    EXPECT_EQ(there.to_vector<float>(), here.to_vector<float>());
    EXPECT_EQ(to_device(there, Device::cpu).to_vector<float>(), here.to_vector<float>());
  }
  const Tensor x = to_device(Tensor::of<float>({0, 1, 2, 3, 4, 5}, {2, 3}), Device::cuda);
  EXPECT_EQ(transpose(x).to_vector<float>(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(slice(x, 1, 1, 3).to_vector<float>(), (std::vector<float>{1, 2, 4, 5}));
  EXPECT_EQ(slice(x, 0, 1, 2).to_vector<float>(), (std::vector<float>{3, 4, 5}));
  const std::vector<float> other{9, 8, 7, 6, 5, 4};
  x.write(std::span<const float>(other));
  EXPECT_EQ(x.to_vector<float>(), other);
  EXPECT_TRUE(to_device(zeros({0, 4}), Device::cuda).to_vector<float>().empty());
}

TEST_F(CudaDevice, StridedCopies) {
  const Tensor here = uniform({3, 5, 7, 8}, -1, 1, 4);
  const Tensor there = to_device(here, Device::cuda);
  for (const auto& order : {Shape{3, 2, 1, 0}, Shape{0, 2, 1, 3}, Shape{1, 0, 3, 2}}) {
    const Tensor copy = contiguous(permute(there, order));
    EXPECT_TRUE(copy.contiguous());
    EXPECT_EQ(copy.to_vector<float>(), permute(here, order).to_vector<float>());
  }
  EXPECT_EQ(clone(slice(there, 3, 1, 8, 2)).to_vector<float>(),
            slice(here, 3, 1, 8, 2).to_vector<float>());
}

TEST_F(CudaDevice, Refusals) {
  const Tensor x = to_device(ones({2, 3}), Device::cuda);
  expect_error<DeviceError>(
      [&] { x.data<float>(); },
      "data: the bytes are not in the host's memory: f32 [2, 3] on cuda. Read "
      "them with to_vector().");
  expect_error<DeviceError>([&] { add(x, ones({3})); },
                            "add: the inputs are on different devices: f32 [2, 3] on cuda and f32 "
                            "[3] on cpu. Move them to one device first.");
  expect_error<StateError>([&] { to_device(transpose(x), Device::cpu); },
                           "to_device: the tensor is not contiguous: f32 [3, 2] on cuda. Call "
                           "contiguous() on it first.");
  expect_error<StateError>(
      [&] {
        capture([](auto in) { return std::vector{to_device(in[0], Device::cpu)}; },
                std::vector{x.meta()});
      },
      "to_device: a step is being captured: f32 [2, 3] on cuda. Make the value an input of the "
      "step.");
}

TEST_F(CudaDevice, MemoryComesFromThePoolAndRunsOut) {
  const auto pool = std::make_shared<PooledAllocator>(cuda_provider(), 4096);
  const AllocatorScope scope(pool);
  {
    const Tensor x = relu(Tensor::empty({{512}, DType::f32, Device::cuda}));  // 2048 bytes
    EXPECT_EQ(pool->stats().in_use, 2048);
    EXPECT_THROW(Tensor::empty({{513}, DType::f32, Device::cuda}), OutOfMemory);
    EXPECT_EQ(pool->stats().in_use, 2048);
  }
  EXPECT_EQ(pool->stats().in_use, 0);
  pool->trim();
  EXPECT_EQ(pool->stats().reserved, 0);
  const auto endless = std::make_shared<PooledAllocator>(cuda_provider());
  const AllocatorScope another(endless);
  EXPECT_THROW(Tensor::empty({{int64_t{1} << 46}, DType::u8, Device::cuda}), OutOfMemory);
}

TEST_F(CudaDevice, BatchesOfImagesAreThoseOfTheCpu) {
  const data::ImageDataset images = data::draw_images(data::Split::test, {.count = 50});
  for (const int64_t workers : {0, 1, 3}) {
    data::LoaderAttrs attrs{.batch = 8,
                            .shuffle = true,
                            .seed = 3,
                            .augment = {.crop = 3, .flip = true, .cutout = workers > 1 ? 9 : 0},
                            .workers = workers};
    data::Loader here(images, attrs);
    attrs.device = Device::cuda;
    data::Loader there(images, attrs);
    for (uint64_t epoch = 0; epoch < 2; ++epoch) {
      here.start(epoch);
      there.start(epoch);
      std::vector<data::Batch> batches;  // read when all were taken: nobody waited for one
      const int64_t waits = cuda_queue().counts().waits;
      while (const auto batch = there.next()) batches.push_back(*batch);
      EXPECT_EQ(cuda_queue().counts().waits, waits);
      for (const data::Batch& batch : batches) {
        const auto expected = here.next();
        ASSERT_TRUE(expected);
        EXPECT_EQ(batch.x.device(), Device::cuda);
        EXPECT_EQ(batch.x.to_vector<float>(), expected->x.to_vector<float>());
        EXPECT_EQ(batch.y.to_vector<int64_t>(), expected->y.to_vector<int64_t>());
      }
      EXPECT_FALSE(here.next());
    }
    there.start(2);
    there.next();  // the others are dropped with the loader
  }
}

// Values of the host are read at once, wherever they lie.
TEST_F(CudaDevice, CopiesInDoNotWait) {
  const Tensor x = Tensor::empty({{3'000'001}, DType::f32, Device::cuda});
  const Tensor one = Tensor::empty({{}, DType::f32, Device::cuda});
  const int64_t waits = cuda_queue().counts().waits;
  std::vector<float> values(3'000'001);
  for (const float v : {1.0f, 2.0f}) {
    std::iota(values.begin(), values.end(), v);
    x.write(std::span<const float>(values));
    one.write(std::span<const float>(&v, 1));
  }
  const std::vector<float> expected = std::exchange(values, {});
  EXPECT_EQ(cuda_queue().counts().waits, waits);
  EXPECT_EQ(x.to_vector<float>(), expected);
  EXPECT_EQ(one.item(), 2);
  EXPECT_GT(cuda_queue().counts().waits, waits);
}

TEST_F(CudaDevice, ValuesAreFetchedLate) {
  const Tensor x = Tensor::empty({{}, DType::f32, Device::cuda});
  std::vector<CudaFetch> fetched;
  const int64_t waits = cuda_queue().counts().waits;
  for (int i = 0; i < 5; ++i) {
    const auto value = static_cast<float>(i);
    x.write(std::span<const float>(&value, 1));
    fetched.push_back(cuda_queue().fetch(view_of(x.value()).data, sizeof value));
  }
  fetched.erase(fetched.begin() + 1);  // one that nobody wants
  for (const int i : {3, 0, 1, 2}) {
    float value = -1;
    cuda_queue().take(fetched[static_cast<size_t>(i)], &value);
    EXPECT_EQ(value, i == 0 ? 0 : i + 1);
  }
  EXPECT_EQ(cuda_queue().counts().waits, waits);
  expect_error<ValueError>([&] { cuda_queue().fetch(view_of(x.value()).data, 65); },
                           "cuda: too many bytes are fetched: 65. Fetch at most 64.");
}

// A fault before a fetched value is thrown when that is taken, once; one after it is not yet known.
TEST_F(CudaDevice, FaultsComeWithFetchedValues) {
  const Tensor table = to_device(ones({3, 2}), Device::cuda);
  const Tensor good = to_device(Tensor::of<int64_t>({2}, {1}), Device::cuda);
  const Tensor bad = to_device(Tensor::of<int64_t>({7}, {1}), Device::cuda);
  std::vector<CudaFetch> fetched;
  for (const Tensor* ids : {&good, &bad, &good}) {
    const Tensor y = embedding(table, *ids);
    fetched.push_back(cuda_queue().fetch(view_of(y.value()).data, sizeof(float)));
  }
  float value = 0;
  cuda_queue().take(fetched[0], &value);
  EXPECT_EQ(value, 1);
  expect_error<IndexError>(
      [&] { cuda_queue().take(fetched[1], &value); },
      "embedding: an id is out of range: 7 at position 0 for a size of 3. Use ids "
      "from 0 and below 3.");
  cuda_queue().take(fetched[2], &value);
  EXPECT_EQ(value, 1);
  cuda_api().synchronize();  // it is forgotten
}

TEST_F(CudaDevice, FindsWhatIsNotFinite) {
  const Tensor x = to_device(Tensor::of<float>({1, 1000}, {2}), Device::cuda);
  ApplyMode mode = apply_mode();
  mode.check_finite = true;
  const ApplyModeScope scope(mode);
  expect_error<NumericError>([&] { exp(x); },
                             "exp: output 0 holds NaN or infinity: f32 [2] on cuda. Lower the "
                             "learning rate or look at this op's inputs.");
}

// What only a kernel can find is thrown once, the next time anybody waits.
TEST_F(CudaDevice, AnIdOutOfRangeIsThrownAtTheNextWait) {
  const Tensor table = to_device(ones({3, 2}), Device::cuda);
  const Tensor ids = to_device(Tensor::of<int64_t>({0, 7, -1}, {3}), Device::cuda);
  const Tensor y = embedding(table, ids);
  EXPECT_EQ(why_no_cuda(), "");  // does not wait
  expect_error<IndexError>(
      [&] { y.to_vector<float>(); },
      "embedding: an id is out of range: 7 at position 1 for a size of 3. Use ids "
      "from 0 and below 3.");
  const std::vector<float> rows = y.to_vector<float>();  // what bad ids give is not said
  EXPECT_EQ(std::vector(rows.begin(), rows.begin() + 2), (std::vector<float>{1, 1}));
}

TEST_F(CudaDevice, StepsArePlannedToTheByte) {
  const auto chain = [](const Tensor& x) { return tanh(gelu(sigmoid(exp(x)))); };
  const Tensor x = to_device(uniform({33, 65}, -1, 1, 4), Device::cuda);
  const Tensor expected = chain(x);
  const auto pool = std::make_shared<PooledAllocator>(cuda_provider());
  const AllocatorScope scope(pool);
  Step step(chain);
  const Plan& plan = step.plan(x);
  PeakScope region(*pool);
  EXPECT_EQ(step(x).to_vector<float>(), expected.to_vector<float>());
  EXPECT_EQ(region.peak().bytes + block_bytes(x.value().storage->bytes()), plan.total_bytes());
}

// Captured as eager, with a skipped update between others; one parameter is more than a chunk.
TEST_F(CudaDevice, UpdatesOfAStepAreThoseOfEager) {
  constexpr int kParameters = 10;
  const auto train = [&](bool captured) {
    std::vector<Tensor> w;
    for (int i = 0; i < kParameters; ++i)
      w.push_back(to_device(uniform({i == 5 ? 16'391 : i % 9 + 1}, -1, 1, static_cast<uint64_t>(i)),
                            Device::cuda));
    optim::AdamW adam(w, {.learning_rate = 0.1});
    const auto scaler = optim::LossScaler::dynamic({.initial = 4}, Device::cuda);
    const auto body = [&](const Tensor& x) {
      std::vector<Tensor> grads;
      for (const Tensor& p : w) grads.push_back(mul(p, x));
      auto [unscaled, skip] = scaler.unscale(grads);
      adam.update(optim::clip_by_global_norm(unscaled, 0.5).grads, skip);
      scaler.update(skip);
      return sum(w[1]);
    };
    Step step(body);
    std::vector<std::vector<float>> values;
    for (const float x : {8.0f, HUGE_VALF, -2.0f}) {  // the second one is skipped
      const Tensor input = to_device(Tensor::of<float>({x}, {}), Device::cuda);
      values.push_back((captured ? step(input) : body(input)).to_vector<float>());
    }
    for (const Tensor& p : w) values.push_back(p.to_vector<float>());
    return values;
  };
  EXPECT_EQ(train(true), train(false));
}

// Products and convolutions by the vendor's libraries, where there are any: as the CPU computes
// them, op by op and captured.
TEST_F(CudaDevice, LibrariesComputeTheSame) {
  const auto compute = [](const Tensor& x, const Tensor& w, const Tensor& m) {
    const Tensor y = conv2d(x, w, {.padding = 1});  // [2, 9, 9, 24]
    return cast(sum(matmul(reshape(y, {162, 24}), m), {0}), DType::f32);
  };
  for (const auto& [dtype, most] : {std::pair{DType::f32, 1e-5}, {DType::bf16, 2e-2}}) {
    std::vector<Tensor> here, there;
    for (const Shape& shape : {Shape{2, 9, 9, 16}, Shape{24, 3, 3, 16}, Shape{24, 40}}) {
      here.push_back(cast(uniform(shape, -1, 1, 4), dtype));
      there.push_back(to_device(here.back(), Device::cuda));
    }
    const auto expected = compute(here[0], here[1], here[2]).to_vector<float>();
    Step step(compute);
    double largest = 0;
    for (const float value : expected) largest = std::max(largest, std::abs(double{value}));
    for (const Tensor& result :
         {compute(there[0], there[1], there[2]), step(there[0], there[1], there[2])}) {
      const auto values = result.to_vector<float>();
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(values[i], expected[i], most * largest) << name_of(dtype) << " " << i;
    }
  }
}

}  // namespace
}  // namespace plimsoll
