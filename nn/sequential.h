// Sequential: modules one after another, named "0", "1", ... in order.
//
//   nn::Sequential net;
//   net.then<nn::Conv2d>(1, 32, 5, init).then<nn::ReLU>().then<nn::MaxPool2d>(2)
//      .then<nn::Flatten>().then<nn::Linear>(4608, 10, init);
//   Tensor logits = net(images, nn::training());       // [N, 28, 28, 1] -> [N, 10]
//
// A chain of calls and not one list of arguments: C++ may evaluate the arguments of a function in
// any order, and the order is what decides which random numbers each module draws.
#pragma once

#include "nn/module.h"

namespace plimsoll::nn {

class Sequential : public Module {
 public:
  // Appends a module made from the arguments of its constructor.
  template <std::derived_from<Module> M, class... Args>
  Sequential& then(Args&&... args) {
    return append(std::make_unique<M>(std::forward<Args>(args)...));
  }
  // Appends a module. ValueError for a null pointer.
  Sequential& append(std::unique_ptr<Module> module) {
    const std::string name = cat(modules_.size());
    modules_.push_back(&add(name, std::move(module)));
    return *this;
  }

  size_t size() const { return modules_.size(); }
  // IndexError when there is no module i.
  const Module& operator[](size_t i) const {
    check<IndexError>(i < modules_.size(), "sequential: there is no module ", i, " of ",
                      modules_.size(), ". Count from 0.");
    return *modules_[i];
  }

  // An empty Sequential returns x.
  Tensor forward(const Tensor& x, const Mode& mode) const override {
    Tensor y = x;
    for (const Module* module : modules_) y = (*module)(y, mode);
    return y;
  }

 private:
  std::vector<const Module*> modules_;
};

}  // namespace plimsoll::nn
