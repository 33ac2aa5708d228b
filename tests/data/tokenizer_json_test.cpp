// tokenizer.json: ids against those of the pip package tokenizers, and what is refused.
#include "tests/data/bpe_testing.h"

namespace plimsoll::data {
namespace {

// A file with `text` in place of `old`.
std::string file_with(const std::string& old = "", const std::string& text = "") {
  std::string json = cat(
      R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [{"id": 259, )",
      R"("content": "<|end|>", "single_word": false, "lstrip": false, "rstrip": false, )",
      R"("normalized": false, "special": true}], "normalizer": null, )",
      R"("pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, )",
      R"("use_regex": true}, "post_processor": null, "decoder": {"type": "ByteLevel", )",
      R"("add_prefix_space": true, "trim_offsets": true, "use_regex": true}, )",
      R"("model": {"type": "BPE", "dropout": null, "unk_token": null, "fuse_unk": false, )",
      R"("continuing_subword_prefix": "", "end_of_word_suffix": null, "byte_fallback": false, )",
      R"("ignore_merges": false, "vocab": )",
      byte_vocabulary({"\\u0120t", "he", "Ġthe", "<|end|>"}),
      R"(, "merges": ["Ġ t", ["h", "e"], "Ġt he"]}})");
  if (old.empty()) return json;
  const size_t at = json.find(old);
  EXPECT_NE(at, json.npos) << old;
  return json.replace(at, old.size(), text);
}

TEST(DataTokenizerJson, IsReadWhole) {
  const TemporaryFolder dir;
  const BytePairEncoding bpe = load_tokenizer(dir.write("tokenizer.json", "\n" + file_with()));
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(bpe.size(), 260);
  EXPECT_EQ(bpe.encode(" the!"), (Ids{258, 0}));
  EXPECT_EQ(bpe.encode(" the<|end|><|end|> the<|end"),
            (Ids{258, 259, 259, 258, '<' - 33, '|' - 33, 'e' - 33, 'n' - 33, 'd' - 33}));
  EXPECT_EQ(bpe.decode(Ids{258, 259}), " the<|end|>");
  // What else is in its folder does not count.
  dir.write("vocab.json", byte_vocabulary({}));
  dir.write("merges.txt", std::string());
  EXPECT_EQ(load_tokenizer(dir.path()).encode(" the"), Ids{258});
  dir.write("tokenizer.json", file_with("\"normalizer\": null", "\"normalizer\": {}"));
  EXPECT_EQ(error_of<DataError>([&] { load_tokenizer(dir.path()); }),
            cat("tokenizer: this is not done here: ", dir.text("tokenizer.json"),
                " asks for normalizer {...}. Use a BPE as GPT-2, Llama or Qwen has it."));
  // In any order, and no more than what is needed.
  const BytePairEncoding least = parse_tokenizer(
      cat(R"({"model": {"merges": [["h", "e"]], "vocab": )", byte_vocabulary({"he"}),
          R"(}, "pre_tokenizer": {"add_prefix_space": false, "type": "ByteLevel"}})"),
      "f");
  EXPECT_EQ(least.encode("<|end|>").size(), 7U);
  EXPECT_EQ(least.encode("he"), Ids{256});
}

TEST(DataTokenizerJson, AddedTokensAreFoundListAfterListAndTheLongestFirst) {
  const BytePairEncoding bpe = parse_tokenizer(
      file_with("}], \"norm", R"(}, {"id": 260, "content": "hehe", "normalized": true}, )"
                              R"({"id": 257, "content": "he", "normalized": true}, )"
                              R"({"id": 261, "content": "eh", "normalized": false}], "norm)"),
      "f");
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(bpe.encode("hehe"), (Ids{'h' - 33, 261, 'e' - 33}));
  EXPECT_EQ(bpe.encode("he he"), (Ids{257, 255, 257}));
  EXPECT_EQ(bpe.encode("h<|end|>eh"), (Ids{'h' - 33, 259, 261}));
  EXPECT_EQ(bpe.size(), 262);
}

// The ids that Hugging Face's library gives, which does not look at those of the file.
TEST(DataTokenizerJson, AnAddedTokenHasTheIdOfItsKeyOrTheNextFreeOne) {
  const auto refusal = [](const std::string& id, const std::string& content,
                          const std::string& more = "") {
    return error_of<DataError>([&] {
      parse_tokenizer(file_with("\"id\": 259, \"content\": \"<|end|>\"",
                                cat("\"id\": ", id, ", \"content\": \"", content, "\"", more)),
                      "f");
    });
  };
  const auto other = [](int64_t has, const std::string& content, int64_t gets) {
    return cat(
        "tokenizer: an added token has not the id that Hugging Face's library gives it: f has ",
        has, " for \"", content, "\", there it is ", gets, ". Save the file with that library.");
  };
  EXPECT_EQ(refusal("258", "<|end|>"), other(258, "<|end|>", 259));
  EXPECT_EQ(refusal("260", "he"), other(260, "he", 257));
  EXPECT_EQ(refusal("300", "<x>"), other(300, "<x>", 260));
  EXPECT_EQ(refusal("257", "<x>"), other(257, "<x>", 260));
  EXPECT_EQ(refusal("256", " t"), other(256, " t", 260));  // the key is "Ġt"
  EXPECT_EQ(refusal("260", "<x>", "}, {\"id\": 262, \"content\": \"<y>\""), other(262, "<y>", 261));
  EXPECT_EQ(refusal("260", "<x>", "}, {\"id\": 260, \"content\": \"<x>\""),
            "tokenizer: an added token is there twice: f has \"<x>\". "
            "Use the file as it was published.");
}

// A key is written in the alphabet of bytes: "é" is that of byte 0xE9, whose id theirs gives the
// two bytes of an added "é".
TEST(DataTokenizerJson, AnAddedTokenIsFoundAsItIsWritten) {
  const auto with_token = [](int id, const char* content) {
    std::string json = file_with("\"id\": 259, \"content\": \"<|end|>\"",
                                 cat("\"id\": ", id, ", \"content\": \"", content, "\""));
    return json.replace(json.find("[\"h\", \"e\"]"), 10, "\"h e\"");  // theirs: all in one form
  };
  using Ids = std::vector<int32_t>;
  const BytePairEncoding accent = parse_tokenizer(with_token(0xE9 - 33, "é"), "f");
  EXPECT_EQ(accent.encode("hé"), (Ids{'h' - 33, 0xE9 - 33}));
  EXPECT_EQ(accent.encode("\xE9\x80"), (Ids{0xE9 - 33, 0x80 - 33}));
  EXPECT_EQ(accent.decode(Ids{0xE9 - 33}), "\xE9");
  const BytePairEncoding blank = parse_tokenizer(with_token(256, "Ġt"), "f");
  EXPECT_EQ(blank.encode("Ġt t"), (Ids{256, 256}));
  EXPECT_EQ(parse_tokenizer(with_token(257, "he"), "f").encode("hehe"), (Ids{257, 257}));
  const TemporaryFolder dir;
  for (const auto& [id, text] : {std::pair(0xE9 - 33, "é"), {256, "Ġt"}, {257, "he"}, {260, " t"}})
    expect_same_ids(dir.write("tokenizer.json", with_token(id, text)),
                    {"é", "hé the é", "Ġt t the", "hehe", " t the"}, dir, false);
}

TEST(DataTokenizerJson, APieceThatIsATokenIsOneWhereMergesAreIgnored) {
  const std::string merges = R"("Ġ t", ["h", "e"], "Ġt he")";
  EXPECT_EQ(parse_tokenizer(file_with(merges, ""), "f").encode(" the").size(), 4U);
  std::string json = file_with(merges, "");
  json.replace(json.find("\"ignore_merges\": false"), 22, "\"ignore_merges\": true ");
  EXPECT_EQ(parse_tokenizer(json, "f").encode(" the"), std::vector<int32_t>{258});
}

TEST(DataTokenizerJson, GivesTheIdsOfTokenizers) {
  NEEDS_PYTHON("tokenizers");
  const TemporaryFolder dir;
  dir.write("text", read_sources(source_folder()));
  refer({"train", dir.text("text"), dir.path().string()});
  const std::vector<std::string> texts = many_texts(dir);
  for (const char* file : {"tokenizer.json", "ignoring.json"})
    expect_same_ids(dir / file, texts, dir);
}

TEST(DataTokenizerJson, RefusesWhatIsNotDoneHere) {
  const auto refusal = [](const std::string& json) {
    return error_of<DataError>([&] { parse_tokenizer(json, "f"); });
  };
  const auto expect_not_done = [&](const char* old, const char* text, const char* what) {
    EXPECT_EQ(refusal(file_with(old, text)),
              cat("tokenizer: this is not done here: f asks for ", what,
                  ". Use a BPE as GPT-2, Llama or Qwen has it."));
  };
  expect_not_done("\"normalizer\": null", "\"normalizer\": {\"type\": \"NFKC\"}",
                  "normalizer {...}");
  expect_not_done("\"truncation\": null", "\"truncation\": {}", "truncation {...}");
  expect_not_done("\"padding\": null", "\"padding\": []", "padding [...]");
  expect_not_done("\"1.0\"", "\"2.0\"", "version \"2.0\"");
  expect_not_done("{\"type\": \"ByteLevel\", \"add", "{\"type\": \"Sequence\", \"add",
                  "pre_tokenizer.type \"Sequence\"");
  expect_not_done("\"add_prefix_space\": false", "\"add_prefix_space\": true",
                  "pre_tokenizer.add_prefix_space true");
  expect_not_done("\"use_regex\": true", "\"use_regex\": false", "pre_tokenizer.use_regex false");
  expect_not_done("\"post_processor\": null", "\"post_processor\": {\"type\": \"Template\"}",
                  "post_processor.type \"Template\"");
  for (const char* of_template :
       {R"("single": [{"SpecialToken": 5}])", R"("single": [{"SpecialToken": {"id": "<s>"}}])",
        R"("single": [{"SpecialToken": {"id": "<s>"}}], "special_tokens": {"<s>": 5})"})
    EXPECT_EQ(refusal(file_with("\"post_processor\": null",
                                R"("post_processor": {"type": "TemplateProcessing", )" +
                                    std::string(of_template) + "}")),
              "tokenizer: a key is not of the format: f has post_processor.single. Use the file as "
              "it was "
              "published.");
  expect_not_done("\"decoder\": {", "\"decoder\": [], \"x\": {", "decoder [...]");
  expect_not_done("\"BPE\"", "\"Unigram\"", "model.type \"Unigram\"");
  expect_not_done("\"dropout\": null", "\"dropout\": 0.1", "model.dropout 0.1");
  expect_not_done("_prefix\": \"\"", "_prefix\": \"##\"", "model.continuing_subword_prefix \"##\"");
  expect_not_done("\"vocab\": {", "\"vocab\": [], \"x\": {", "model.vocab [...]");
  expect_not_done("\"lstrip\": false", "\"lstrip\": true", "added_tokens.lstrip true");
  expect_not_done("\"ignore_merges\": false", "\"ignore_merges\": 1", "model.ignore_merges 1");
  // Where any value is taken too.
  expect_not_done("\"unk_token\": null", "\"unk_token\": {}", "model.unk_token {...}");
  expect_not_done("\"fuse_unk\": false", "\"fuse_unk\": []", "model.fuse_unk [...]");
  expect_not_done("\"trim_offsets\": true", "\"trim_offsets\": []",
                  "pre_tokenizer.trim_offsets [...]");
  expect_not_done("\"use_regex\": true}, \"model\"", "\"use_regex\": {\"a\": 1}}, \"model\"",
                  "decoder.use_regex {...}");
  expect_not_done("\"special\": true", "\"special\": {}", "added_tokens.special {...}");
  expect_not_done("\"id\": 259", "\"id\": [259]", "added_tokens.id [...]");
  expect_not_done("\"content\": \"<|end|>\"", "\"content\": {}", "added_tokens.content {...}");
  expect_not_done("\"merges\": [", "\"merges\": null, \"x\": [", "model.merges null");
}

TEST(DataTokenizerJson, RefusesDamagedFiles) {
  const auto refusal = [](const std::string& json) {
    return error_of<DataError>([&] { parse_tokenizer(json, "f"); });
  };
  const std::string published = ". Use the file as it was published.";
  EXPECT_EQ(refusal(file_with().substr(0, 500)),
            "tokenizer: the JSON cannot be read: f at byte 501" + published);
  for (const std::string& text : {std::string(), std::string("[]"), std::string("7"),
                                  "\xEF\xBB\xBF" + file_with(), file_with() + '\0'})
    EXPECT_EQ(refusal(text), "tokenizer: this is no JSON object: f" + published);
  EXPECT_EQ(refusal("{}"),
            "tokenizer: something is missing: f has no pre_tokenizer.type" + published);
  EXPECT_EQ(refusal(file_with("\"merges\"", "\"vocab\"")),
            "tokenizer: a key is there twice: f has \"vocab\"" + published);
  EXPECT_EQ(refusal(file_with("\"padding\"", "\"truncation\"")),
            "tokenizer: a key is there twice: f has \"truncation\"" + published);
  EXPECT_EQ(refusal(file_with("\"lstrip\"", "\"id\"")),
            "tokenizer: a key is there twice: f has \"id\"" + published);
  EXPECT_EQ(refusal(file_with("\"fuse_unk\"", "\"fuse\\nunk\"")),
            "tokenizer: a key is not of the format: f has model.fuse?unk" + published);
  EXPECT_EQ(refusal(file_with("\"padding\"", "\"model.type\"")),
            "tokenizer: a key is not of the format: f has model.type" + published);
  for (const char* id : {"-1", "1.5", "2147483648", "null", "true", "\"1\"", "[1]", "{}"})
    EXPECT_EQ(refusal(file_with("\"he\": 257", cat("\"he\": ", id))),
              "tokenizer: the id of a token is no whole number from 0 to 2^31 - 1: f after token "
              "\"he\"" +
                  published);
  for (const char* merge : {"\"he\"", "\"h  e\"", "\" h e\"", "[\"h e\", \"e\"]"})
    EXPECT_TRUE(refusal(file_with("[\"h\", \"e\"]", merge))
                    .starts_with("tokenizer: this is not two words: f, merges, line 2: "))
        << merge;
  for (const char* merge :
       {"[\"h\"]", "[]", "7", "[\"h\", \"e\", \"e\"]", "[\"h e\"]", "[[\"h\"]]", "{}", "[1, 2]"})
    EXPECT_TRUE(refusal(file_with("[\"h\", \"e\"]", merge))
                    .starts_with("tokenizer: a merge is not two words: f has "))
        << merge;
  for (const char* more : {"\"h e\\n\"", "[\"h\", \"e\\r\"]"})
    EXPECT_TRUE(refusal(file_with("[\"h\", \"e\"]", more))
                    .starts_with("tokenizer: a merge is not of tokens in the vocabulary: f, "))
        << more;
  EXPECT_EQ(refusal(file_with("[\"h\", \"e\"]", "\"h x\"")),
            "tokenizer: a merge is not of tokens in the vocabulary: f, merges, line 2: \"h x\". "
            "Use files that belong together.");
  EXPECT_EQ(refusal(file_with("\"id\": 259", "\"id\": -259")),
            "tokenizer: an added token needs an id from 0 to 2^31 - 1 and a text: f: number 1 has "
            "not got both" +
                published);
  EXPECT_EQ(refusal(file_with("\"!\": 0, ", "")),
            "tokenizer: f: bpe: there is no token for byte 33. "
            "Use a byte-level vocabulary, which has one for each.");
  // Deep and long nonsense is refused where it becomes too deep.
  EXPECT_EQ(refusal(file_with("\"vocab\": ", "\"vocab\": " + std::string(1 << 20, '['))),
            "tokenizer: the JSON is nested more than 8 deep: f" + published);
  EXPECT_EQ(refusal(file_with("\"dropout\": null", "\"dropout\": 1e999")),
            "tokenizer: a number is too large: in f" + published);
}

}  // namespace
}  // namespace plimsoll::data
