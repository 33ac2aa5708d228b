// What the example programs refuse: the exit code, and a short sentence that names the option and
// the value.
#include "core/cuda/seam/cuda.h"
#include "tests/data/testing.h"
#include "tests/examples/testing.h"

namespace plimsoll::examples {
namespace {

struct Refusal {
  const char* arguments;
  int code;
  const char* sentence;  // a part of the output
};

TEST(ExamplesRefuse, Options) {
  const Refusal refusals[] = {
      {"train_cnn --model alexnet", 2,
       "--model: alexnet not in {lenet,sepcnn,resnet8,vgg,resnet50,resnet18-cifar}"},
      {"train_cnn --modle lenet", 2, "--modle: there is no such option. Did you mean --model?\n"},
      {"train_cnn --modle=lenet", 2, "--modle: there is no such option. Did you mean --model?\n"},
      {"train_cnn --width 3", 2, "--width: there is no such option. --help lists those that"},
      {"train_cnn --model= --epochs 1", 2, "--model:  not in {lenet"},
      {"train_cnn --mode lazy", 2, "--mode: lazy not in {eager,captured}"},
      {"train_cnn --batch 0", 2, "--batch: not a whole number from 1 to 1000000: 0\n"},
      {"train_cnn --batch many", 2, "--batch: not a whole number from 1 to 1000000: many\n"},
      {"train_cnn --batch ''", 2, "--batch: not a whole number from 1 to 1000000: \"\"\n"},
      {"train_cnn --batch 1.5", 2, "--batch: not a whole number from 1 to 1000000: 1.5\n"},
      {"train_cnn --batch 99999999999999999999999", 2, ": 99999999999999999999999\n"},
      {"train_cnn --epochs 0", 2, "--epochs: not a whole number from 1 to 1000000000: 0\n"},
      {"train_cnn --threads -1", 2, "--threads: not a whole number from 0 to 4096: -1\n"},
      {"train_cnn --seed -1", 2, "--seed: not a whole number from 0 to 9223372036854775807: -1\n"},
      {"train_cnn --device tpu", 2, "--device: no such device: tpu. Use cpu, cuda or cuda:1."},
      {"train_cnn --device cuda:x", 2,
       "--device: no such device: cuda:x. Use cpu, cuda or cuda:1."},
      {"train_cnn --device cuda:", 2, "--device: no such device: cuda:. Use cpu, cuda or cuda:1."},
      {"train_cnn --device cuda:-1", 2, "--device: no such device: cuda:-1."},
      {"train_cnn --device cudax1", 2, "--device: no such device: cudax1."},
      {"train_cnn --device cuda:99", 2, cuda_backend ? "--device cuda:99: cuda: " : "--device: "},
      {"train_cnn --lr nan", 2, "--lr: not a number above 0: nan\n"},
      {"train_cnn --lr inf", 2, "--lr: not a number above 0: inf\n"},
      {"train_cnn --lr 1e999", 2, "--lr: not a number above 0: 1e999\n"},
      {"train_cnn --lr 1e39", 2, "--lr: not a number that f32 can hold: 1e39\n"},
      {"train_cnn --lr 1e-50", 2, "--lr: not a number that f32 can hold: 1e-50\n"},
      {"train_cnn --lr -1", 2, "--lr: not a number above 0: -1\n"},
      {"train_cnn --lr fast", 2, "--lr: not a number above 0: fast\n"},
      {"train_cnn --precision f64", 2, "--precision: f64 not in {f32,bf16,f16}"},
      {"train_cnn --loss-scale 0", 2, "--loss-scale: not dynamic, none or a number above 0: 0\n"},
      {"train_cnn --loss-scale 1e39", 2, "none or a number above 0: 1e39\n"},
      {"train_cnn --loss-scale static", 2, "none or a number above 0: static\n"},
      {"train_cnn --accumulate 0", 2, "--accumulate: not a whole number from 1 to 1000000: 0\n"},
      {"train_cnn --budget 0", 2, "--budget: not a size above 0, as in 300MiB, nor auto: 0\n"},
      {"train_cnn --budget -1MiB", 2, "as in 300MiB, nor auto: -1MiB\n"},
      {"train_cnn --budget 300Mib", 2, "as in 300MiB, nor auto: 300Mib\n"},
      {"train_cnn --budget 1e30", 2, "as in 300MiB, nor auto: 1e30\n"},
      {"train_cnn --budget 99999999TiB", 2, "as in 300MiB, nor auto: 99999999TiB\n"},
      {"train_cnn --budget ''", 2, "as in 300MiB, nor auto: \"\"\n"},
      {"train_cnn --budget 1GiB --mode eager", 2,
       "--budget: only a captured step is planned: --mode eager. Use --mode captured."},
      {"train_cnn --plan-seconds 0", 2, "--plan-seconds: not a number above 0 and below 1e9: 0\n"},
      {"train_cnn --plan-seconds 1e9", 2, "number above 0 and below 1e9: 1e9\n"},
      {"fit --model gpt2-124M --vram 1GiB --plan-seconds nan", 2, "and below 1e9: nan\n"},
      {"train_cnn --budget 1MiB --cost model --plan-seconds 0.1", 2,
       "train: the budget is too small: 1048576 bytes, and the smallest plan found takes "},
      {"train_cnn --lr", 2, "--lr: 1 required"},
      {"train_cnn --nonsense", 2, "--nonsense"},
      {"train_transformer --dropout 1.5", 2, "--dropout: not a number from 0 to below 1: 1.5\n"},
      {"train_transformer --dropout nan", 2, "--dropout: not a number from 0 to below 1: nan\n"},
      {"train_transformer --steps -3", 2, "--steps: not a whole number from 1 to 1000000000: -3\n"},
      {"train_transformer --eval-every 0", 2, "--eval-every: not a whole number from 1"},
      {"train_transformer --layers 100000000000000", 2, "--layers: not a whole number from 1"},
      {"train_transformer --width 100000000000000", 2, "--width: not a whole number from 1"},
      {"train_transformer --context -5", 2, "--context: not a whole number from 0"},
      {"train_transformer --width 7 --heads 2", 2,
       "--width: it is not divisible by the number of heads: 7 and 2."},
      {"train_transformer --width 130", 2,
       "--width: it is not divisible by the number of heads: 130 and 4."},
      {"train_transformer --model textcls --heads 2", 2,
       "--heads: --model textcls has a fixed size and dropout: it takes no --heads. Leave it out."},
      {"train_transformer --model textcls --layers 1", 2, "it takes no --layers. Leave it out."},
      {"train_transformer --model textcls --width 8", 2, "it takes no --width. Leave it out."},
      {"train_transformer --model textcls --dropout 0", 2, "it takes no --dropout. Leave it out."},
      {"train_transformer --model gpt2-124M --layers 2", 2,
       "--layers: --model gpt2-124M has a fixed size: it takes no --layers. Leave it out."},
      {"train_transformer --model gpt2-124M --data builtin", 2,
       "--data: gpt2-124M reads tokens of its own vocabulary: builtin. Make them with tokenize and "
       "use tokens:FILE, or synthetic."},
      {"train_transformer --model gpt2-124M --context 1025", 2,
       "--context: gpt2-124M has 1024 positions: 1025. Use at most as many."},
      {"train_cnn --image-size 64", 2,
       "--image-size: only synthetic images and pictures of a folder have any size: 64 with --data "
       "builtin. Leave it out."},
      {"train_cnn --data synthetic --augment flip", 2,
       "--augment: synthetic images are not augmented: flip. Leave it out."},
      {"train_cnn --data synthetic --image-size 4", 2,
       "make_cnn: the images are too small: 4 x 4. Use images of at least 8 x 8."},
      {"train_cnn --weights missing.safetensors", 3,
       "--weights missing.safetensors: safetensors: the file cannot be opened: missing.safetensors "
       "(No such file or directory). Check the path and its permissions.\n"},
      {"train_cnn --export no/such/folder", 2, "--export"},
      {"train_cnn --plan-only --export a.safetensors", 2,
       "--export: --plan-only trains no weights to write: a.safetensors. Leave one of them out."},
      {"fit --model gpt2-124M --vram 1GiB --width 64", 2,
       "--width: --model gpt2-124M has a fixed size: it takes no --width. Leave it out."},
      {"fit --model gpt --vram 1GiB --classes 3", 2,
       "--classes: --model gpt has no images: it takes no --classes. Leave it out."},
      {"fit --model gpt2-124M --vram 1GiB --context 2000", 2,
       "--context: gpt2-124M has 1024 positions: 2000. Use at most as many."},
      {"compare_memory --models alexnet", 2, "--models: alexnet not in {"},
      {"compare_memory --budgets 0", 2, "--budgets: "},
      {"compare_memory --budgets 50,tiny", 2, "--budgets: "},
      {"compare_memory --steps 0", 2, "--steps: not a whole number from 1 to 1000000: 0\n"},
  };
  for (const auto& [arguments, code, sentence] : refusals)
    expect_refusal(arguments, code, sentence);
}

TEST(ExamplesRefuse, HugeBatchesBeforeAnythingIsAllocated) {
  for (const char* program :
       {"train_cnn --batch", "train_transformer --batch",
        "train_transformer --model textcls --batch", "compare_memory --batches",
        "compare_memory --models gpt --batches 1,"})
    expect_refusal(
        std::string(program) + (std::string(program).ends_with(',') ? "" : " ") + "100000000000000",
        2, ": not a whole number from 1 to 1000000: 100000000000000\n");
}

// Parameters and prepared batches of 256 exceed this budget; those of fewer do not.
TEST(ExamplesRefuse, BudgetsThatASmallerBatchMeets) {
  const Outcome refused =
      run("train_cnn --model resnet8 --batch 256 --budget 3MiB --cost model --plan-seconds 0.1");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.output.find("By a short search it would do with a batch of "),
            std::string::npos)
      << refused.output;
}

TEST(ExamplesRefuse, Data) {
  const data::TemporaryFolder dir;
  const std::string empty = dir.write("empty", "").string();
  const std::string text = dir.write("short", "twelve chars").string();
  const Refusal refusals[] = {
      {"train_cnn --data mnist:/nowhere", 3,
       "--data mnist:/nowhere: data: there is no such folder: /nowhere."},
      {"train_cnn --data faces:here", 2, "data: this names no images: \"faces:here\"."},
      {"train_cnn --data mnist:", 2, "data: this names no images: \"mnist:\"."},
      {"train_cnn --batch 1000000", 3, "1000000"},
      {"train_transformer --data text:/nowhere", 3,
       "--data text:/nowhere: read_file: there is no such file: /nowhere."},
      {"train_transformer --data ''", 2, "data: this names no text: \"\"."},
      {"train_transformer --context 10000000", 3, "10000000"},
  };
  for (const auto& [arguments, code, sentence] : refusals)
    expect_refusal(arguments, code, sentence);
  expect_refusal("train_transformer --data text:" + empty, 3,
                 "--data text:" + empty + ": text: it is empty");
  expect_refusal("train_transformer --data text:" + text, 3,
                 "--data text:" + text +
                     ": the text is too short: its last tenth, for validation, has 2 tokens, "
                     "and --context 64 takes one more than that.");
  expect_refusal("train_transformer --model textcls --data text:" + text, 3,
                 "is too short: a part has 0 words for passages of 128.");
}

TEST(ExamplesRefuse, ReportsThatCannotBeWritten) {
  const data::TemporaryFolder dir;
  expect_refusal("train_cnn --json /", 2,
                 "--json: it is there and no regular file: /. Name another file.");
  expect_refusal("compare_memory --json " + dir.path().string(), 2,
                 "--json: it is there and no regular file: " + dir.path().string() + ".");
  expect_refusal("compare_memory --html /nowhere/table.html", 2,
                 "--html: the file cannot be written: /nowhere/table.html (No such file or "
                 "directory).");
  expect_refusal("compare_memory --html ''", 2, "--html: the name is empty");
  expect_refusal("train_transformer --json .", 2,
                 "--json: it is there and no regular file: .. Name another file.");
  expect_refusal("train_cnn --json /nowhere/run.json", 2,
                 "--json: the file cannot be written: /nowhere/run.json (No such file or "
                 "directory).");
  expect_refusal("train_cnn --json ''", 2, "--json: the name is empty");
}

#ifndef __SANITIZE_ADDRESS__  // which needs terabytes of addresses
TEST(ExamplesRefuse, BatchesThatTheMemoryDoesNotHold) {
  const Outcome outcome =
      run("compare_memory --models lenet --batches 1000000", "ulimit -v 700000 && ");
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_NE(outcome.output.find("draw_images: out of memory for 1000000 images of 784 bytes."),
            std::string::npos)
      << outcome.output;
}
#endif

}  // namespace
}  // namespace plimsoll::examples
