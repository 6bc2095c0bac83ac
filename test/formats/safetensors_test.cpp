#include "formats/safetensors.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "formats/raw_array.h"
#include "make_values.h"
#include "value/equal.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

using namespace testing_values;

std::string file(const std::string& header, const std::string& data = "") {
  uint64_t n = header.size();
  return std::string(reinterpret_cast<const char*>(&n), 8) + header + data;
}

TEST(Safetensors, Writes) {
  std::string out = write_safetensors(
      D({{"b", T(DType::F32, {1}, {1})}, {"a", L({T(DType::I32, {}, {1}), T(DType::Bool, {}, {1})})}}));
  std::string header =
      "{\"a.0\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_"
      "offsets\":[4,8]},"
      "\"a.1\":{\"dtype\":\"BOOL\",\"shape\":[],\"data_offsets\":[8,9]}}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(out, file(header, std::string("\1\0\0\0\0\0\x80\x3f\1", 9)));
}

TEST(Safetensors, NumbersAreArraysForOthers) {
  std::string out = write_safetensors(D({{"n", I(3)}, {"s", S("x")}}));
  EXPECT_NE(out.find("\"n\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[0,4]}"), std::string::npos) << out;
  EXPECT_NE(out.find("\"__metadata__\":{\"sheaf\":\""), std::string::npos) << out;
}

TEST(Safetensors, RoundTrip) {
  std::vector<Value> tensors;
  for (DType d : kAllTypes)
    tensors.push_back(T(d, {2, 2}, {0, 1, 0.1, 100}));
  Value v =
      D({{"layers", L({D({{"w", T(DType::F32, {0, 2}, {})}})})}, {"all", L(tensors)}, {"s", T(DType::F64, {}, {0.1})}});
  Value back = parse_safetensors(write_safetensors(v));
  EXPECT_TRUE(tree_equal(v, back)) << render(back);
}

TEST(Safetensors, EveryTreeComesBack) {
  Value t = T(DType::F32, {2}, {1, 2});
  std::string bytes("\xff\x00z", 3);
  for (const Value& v :
       {t,
        F(2.5f),
        F(-0.0f),
        F(1e-45f),
        F(0.1f),
        F(NAN),
        F(INFINITY),
        F(-INFINITY),
        I(int64_t{1} << 40),
        I(-1),
        I(INT64_MIN),
        Value::boolean(false),
        Value::nil(),
        S("é\n\"\\"),
        S(""),
        S(bytes),
        Value::keyword(Name("kw")),
        L({}),
        Tup({}),
        D({}),
        L({F(1), F(2)}),
        Tup({F(1), t}),
        L({D({}), L({}), Value::nil()}),
        D({{"0", t}, {"1", t}}),
        D({{"a.b", t}, {"a", D({{"b", I(2)}})}}),
        D({{"__metadata__", t}}),
        D({{"", t}}),
        D({{"t", D({{"d", t}})}}),
        D({{"step", I(7)}, {"opt", D({{"m", L({t, Value::nil()})}, {"name", S("adam")}})}, {"empty", D({})}})}) {
    Value back = parse_safetensors(write_safetensors(v));
    EXPECT_TRUE(tree_equal(v, back)) << render(v) << " came back as " << render(back);
    EXPECT_EQ(write_safetensors(back), write_safetensors(v));
  }
  EXPECT_TRUE(std::signbit(parse_safetensors(write_safetensors(F(-0.0f))).as_float()));
}

TEST(Safetensors, DamagedStructure) {
  auto with = [](const std::string& text) {
    return message_of([&] { parse_safetensors(file("{\"__metadata__\":{\"sheaf\":\"" + text + "\"}}")); });
  };
  EXPECT_EQ(with("{\\\"t\\\":\\\"w\\\"}"), "its metadata name an array 'w' that is not there");
  EXPECT_EQ(with("{\\\"q\\\":\\\"w\\\"}"), "its metadata are damaged");
  EXPECT_EQ(with("{}"), "its metadata are damaged");
  EXPECT_EQ(with("{\\\"b\\\":\\\"abc\\\"}"), "its metadata hold half a byte");
}

TEST(Safetensors, ViewsAreSavedRowMajor) {
  Tensor t = T(DType::I32, {2, 3}, {0, 1, 2, 3, 4, 5}).as_tensor();
  std::swap(t.sizes[0], t.sizes[1]);
  std::swap(t.strides[0], t.strides[1]);
  EXPECT_TRUE(tree_equal(parse_safetensors(write_safetensors(D({{"x", Value::tensor(t)}}))),
                         D({{"x", T(DType::I32, {3, 2}, {0, 3, 1, 4, 2, 5})}})));
}

TEST(Safetensors, KeyThatIsAlsoALevel) {
  std::string bytes = file(
      "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
      "\"a.b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
      "\1\2");
  EXPECT_EQ(render(parse_safetensors(bytes)), "{:a [1], :a.b [2]}");
}

TEST(Safetensors, BadFiles) {
  auto error = [](std::string bytes) { return message_of([&] { parse_safetensors(bytes); }); };
  auto entry = [](std::string rest) { return "{\"x\":{" + rest + "}}"; };
  EXPECT_EQ(error("abc"), "the file ends early: 8 bytes expected at offset 0, 3 left");
  EXPECT_EQ(error(std::string(8, '\xff') + "{}"),
            "the file ends early: 18446744073709551615 bytes expected at offset 8, 2 left");
  EXPECT_EQ(error(file("[]")), "the header is not a JSON object");
  EXPECT_EQ(error(file("{\"x\":1}")), "'x' is not described by an object");
  EXPECT_EQ(error(file(entry("\"dtype\":\"C128\",\"shape\":[],\"data_offsets\":[0,8]"))),
            "'x' has the unsupported dtype 'C128'");
  EXPECT_EQ(error(file(entry("\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]"))), "'x' has no valid shape");
  EXPECT_EQ(error(file(entry("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]"))),
            "'x' lies outside the file's 0 bytes of data");
  EXPECT_EQ(error(file(entry("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]"), "1234")),
            "'x': an array of shape [2] needs 8 bytes, its data has 4");
  EXPECT_EQ(error(file(entry("\"dtype\":\"F32\",\"shape\":[1152921504606846976,8],\"data_offsets\":[0,4]"), "1234")),
            "'x': out of memory: a tensor of shape [1152921504606846976, 8] is too large");
  EXPECT_EQ(error(file("{\"x\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
                       "\"y\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
                       "123")),
            "'x' and 'y' overlap");
  EXPECT_EQ(error(file(entry("\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]"), "1234")),
            "bytes 2 to 4 of the data belong to no tensor");
  EXPECT_EQ(error(file(entry("\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]"), "123")),
            "bytes 0 to 1 of the data belong to no tensor");
  EXPECT_EQ(error(file("{\"x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                       "\"y\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]}}",
                       "123")),
            "bytes 1 to 2 of the data belong to no tensor");
  EXPECT_EQ(error(file("{}", "1")), "bytes 0 to 1 of the data belong to no tensor");
}

std::string bytes_of_checkpoint(const Value& state, const Value& options) {
  SafetensorsFile file = describe_checkpoint({state, options});
  std::string out = file.header;
  for (const Tensor& t : file.arrays)
    out += raw_bytes(t);
  return out;
}

Value some_state() {
  return D({{"step", I(7)},
            {"params", D({{"w", T(DType::F32, {2, 2}, {0, 1, 0.1, 100})}, {"b", T(DType::BF16, {3}, {1, 2, 3})}})}});
}

// Other programs, and loading as a value, do not see the entries that a checkpoint adds.
TEST(Safetensors, Checkpoints) {
  Value options = D({{"lr", S("0.1")}, {"name", S("\xff \" →")}});
  std::string bytes = bytes_of_checkpoint(some_state(), options);
  Checkpoint c = parse_checkpoint(bytes);
  EXPECT_TRUE(tree_equal(c.state, some_state()));
  EXPECT_TRUE(tree_equal(c.options, options));
  EXPECT_TRUE(tree_equal(parse_safetensors(bytes), some_state()));
  EXPECT_EQ(parse_shard(bytes).size(), 3u);
  // Without structure and options, and without any metadata.
  for (const Value& v : {D({{"w", T(DType::F32, {1}, {1})}}), D({})}) {
    c = parse_checkpoint(bytes_of_checkpoint(v, D({})));
    EXPECT_TRUE(tree_equal(c.state, v));
    EXPECT_TRUE(tree_equal(c.options, D({})));
  }
  // Files that are not checkpoints have no checksums.
  c = parse_checkpoint(write_safetensors(some_state()));
  EXPECT_TRUE(tree_equal(c.state, some_state()));
  EXPECT_TRUE(tree_equal(c.options, D({})));
}

TEST(Safetensors, DamagedCheckpoints) {
  std::string bytes = bytes_of_checkpoint(some_state(), D({{"lr", S("0.1")}}));
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  auto error = [](const std::string& bytes) { return message_of([&] { parse_safetensors(bytes); }); };
  // Larger elements first: params.w, step, params.b.
  for (const auto& [at, name] : {std::pair(0, "params.w"), std::pair(15, "params.w"), std::pair(16, "step"),
                                 std::pair(20, "params.b"), std::pair(25, "params.b")}) {
    std::string changed = bytes;
    changed[8 + header + at] ^= 0x10;
    EXPECT_TRUE(error(changed).starts_with(fmt::format("tensor '{}' has the checksum ", name))) << error(changed);
  }
  EXPECT_EQ(error(bytes.substr(0, 8 + header + 20)), "the file ends early: 26 bytes of data expected, 20 there");
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_ANY_THROW(parse_checkpoint(bytes.substr(0, n))) << n;
  // Every flipped bit is detected, unless it is not part of the state, as in the names of the checksums themselves.
  int unnoticed = 0;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] ^= static_cast<char>(1 << bit % 8);
    try {
      Checkpoint c = parse_checkpoint(changed);
      EXPECT_TRUE(tree_equal(c.state, some_state())) << bit;
      ++unnoticed;
    } catch (const UserError&) {
    }
  }
  EXPECT_LE(unnoticed, 8 * 12) << "the bits of sheaf.header";
}

TEST(Safetensors, WhatCannotBeSaved) {
  Value atom = Value::object(Tag::Atom, new AtomObj);
  EXPECT_EQ(message_of([&] { write_safetensors(D({{"a", atom}})); }),
            "safetensors: cannot serialize " + std::string(type_name(atom)) + " (only tensors and nested dicts/lists)");
}

}  // namespace
}  // namespace sheaf::formats
