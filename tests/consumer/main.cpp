// What a user's program does: trains a few steps, saves and loads. The argument is what the text
// that comes with the engine has to begin with.
#include "formats/safetensors.h"
#include "plimsoll.h"
using namespace plimsoll;

int main(int argc, char** argv) {
  nn::Initializer init{.seed = 1};
  nn::Sequential model;
  model.then<nn::Linear>(4, 16, init).then<nn::ReLU>().then<nn::Linear>(16, 2, init);
  optim::Adam optimizer(model.parameters(), {.learning_rate = 0.05});
  Step step([&](const Tensor& x, const Tensor& y) {
    Tensor loss = cross_entropy(model(x, nn::training()), y);
    optimizer.update(gradients(loss, model.parameters()));
    return loss;
  });
  const Tensor x = Tensor::of<float>({1, 0, 0, 1, 0, 1, 1, 0}, {2, 4});
  const Tensor y = Tensor::of<int64_t>({0, 1}, {2});
  const double first = step(x, y).item();
  for (int i = 0; i < 50; ++i) step(x, y);
  const double last = step(x, y).item();

  const Tensor weight = model.parameters()[0];
  formats::write_safetensors("consumer.safetensors",
                             std::vector{formats::NamedTensor{"w", weight}});
  const Tensor loaded = formats::Safetensors("consumer.safetensors").tensor("w");
  const bool same = loaded.to_vector<float>() == weight.to_vector<float>();
  const data::TextDataset text = data::load_text("builtin");
  std::string begin;
  for (int64_t i = 0; i < 12; ++i)
    begin += text.vocabulary.decode(std::array{int64_t{text.train[i]}});
  const bool begins = argc == 2 && begin.starts_with(argv[1]);
  std::printf("text: %s\n", begin.c_str());
  std::printf("loss %.4f, then %.4f; %s\n", first, last, same ? "saved" : "NOT saved");
  return last < 0.1 * first && same && begins ? 0 : 1;
}
