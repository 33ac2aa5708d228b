// Trains LeNet on MNIST: mnist data/mnist, and without a folder on figures the program draws.
#include "formats/safetensors.h"
#include "nn/torch_layout.h"
#include "plimsoll.h"
using namespace plimsoll;

double accuracy(const nn::Module& model, data::Loader& loader) {
  const NoGrad scope;
  int64_t right = 0, all = 0;
  loader.start(0);
  while (auto batch = loader.next()) {
    const auto guesses = argmax(model(batch->x), -1).to_vector<int64_t>();
    const auto labels = batch->y.to_vector<int64_t>();
    for (size_t i = 0; i < labels.size(); ++i) right += guesses[i] == labels[i];
    all += std::ssize(labels);
  }
  return static_cast<double>(right) / static_cast<double>(all);
}

int main(int argc, char** argv) try {
  const auto images = data::load_images(argc > 1 ? cat("mnist:", argv[1]) : "builtin");
  data::Loader train(images.train, {.batch = 64, .shuffle = true, .seed = 1, .drop_last = true});
  data::Loader test(images.test, {.batch = 1000});

  nn::Initializer init{.seed = 1};
  nn::Sequential model;
  model.then<nn::Conv2d>(1, 10, 5, init).then<nn::MaxPool2d>().then<nn::ReLU>();
  model.then<nn::Conv2d>(10, 20, 5, init).then<nn::MaxPool2d>().then<nn::ReLU>();
  model.then<nn::Flatten>().then<nn::Linear>(320, 50, init).then<nn::ReLU>();
  model.then<nn::Dropout>(0.5, init).then<nn::Linear>(50, 10, init);
  optim::SGD optimizer(model.parameters(), {.learning_rate = 0.01, .momentum = 0.5});

  Step step([&](const Tensor& x, const Tensor& y, const Tensor& key) {
    Tensor loss = cross_entropy(model(x, nn::training(key)), y);
    optimizer.update(gradients(loss, model.parameters()));
    return loss;
  });

  for (int epoch = 0; epoch < 10; ++epoch) {
    train.start(epoch);
    double loss = 0;
    while (auto batch = train.next())
      loss = step(batch->x, batch->y, make_key(1, optimizer.steps_made())).item();
    std::printf("epoch %d  loss %.4f  accuracy %.4f\n", epoch, loss, accuracy(model, test));
  }

  // As PyTorch has them; module 7, a dense layer, reads flattened images.
  const nn::TorchLayout layout{.flattened = {{"7", {4, 4, 20}}}};
  formats::write_safetensors("mnist.safetensors", nn::torch_state(model, layout));
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
