#include "plimsoll.h"
using namespace plimsoll;

int main() {
  nn::Initializer init{.seed = 1};
  nn::Sequential model;
  model.then<nn::Conv2d>(1, 32, 5, init).then<nn::ReLU>().then<nn::MaxPool2d>();
  model.then<nn::Flatten>().then<nn::Linear>(32 * 12 * 12, 10, init);
  optim::Adam optimizer(model.parameters());

  Step step([&](const Tensor& x, const Tensor& y) {
    Tensor loss = cross_entropy(model(x, nn::training()), y);
    optimizer.update(gradients(loss, model.parameters()));
    return loss;
  });
  step.plan({{{128, 28, 28, 1}}, {{128}, DType::i64}}).print();  // the arena is not taken yet

  const data::ImageDataset images = data::draw_images(data::Split::train);
  data::Loader loader(images, {.batch = 128, .shuffle = true, .drop_last = true});
  for (int epoch = 0; epoch < 5; ++epoch) {
    loader.start(epoch);
    double loss = 0;
    while (auto batch = loader.next()) loss = step(batch->x, batch->y).item();
    std::printf("epoch %d  loss %.3f\n", epoch, loss);
  }
}
