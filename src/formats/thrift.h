// Reads Thrift's compact protocol, in which Parquet stores its metadata: structs of numbered fields. Skips fields that
// the caller does not read.
#pragma once
#include <cstdint>
#include <string_view>

#include "formats/byte_reader.h"

namespace sheaf::formats {

class ThriftReader {
 public:
  enum Type : uint8_t { Stop, True, False, Byte, I16, I32, I64, Double, Binary, List, Set, Map, Struct };

  explicit ThriftReader(std::string_view bytes) : in_(bytes) {}
  size_t position() const { return in_.position(); }

  // Calls f(id, type) for each field. f returns true if it read the value; else the value is skipped.
  template <class F>
  void structure(F&& f) {
    Nest nest(*this);
    int id = 0;
    for (;;) {
      auto head = in_.number<uint8_t>();
      auto type = static_cast<Type>(head & 15);
      if (type == Stop) return;
      id = head >> 4 ? id + (head >> 4) : static_cast<int>(integer());
      if (!f(id, type)) skip(type);
    }
  }
  // Calls f() for each element if the element type is `take_if`, and f reads it; skips elements of other types.
  template <class F>
  void list(Type take_if, F&& f) {
    auto [type, count] = list_head();
    for (uint64_t i = 0; i < count; ++i) {
      if (type == take_if)
        f();
      else
        skip_element(type);
    }
  }
  int64_t integer() {
    uint64_t v = varint();
    return static_cast<int64_t>(v >> 1 ^ (~(v & 1) + 1));
  }
  std::string_view binary() { return in_.take(varint()); }
  int8_t byte() { return in_.number<int8_t>(); }

 private:
  struct Nest {
    explicit Nest(ThriftReader& r) : reader(r) {
      if (++reader.depth_ > 32) throw runtime_error("structs within structs, more than 32 deep");
    }
    ~Nest() { --reader.depth_; }
    ThriftReader& reader;
  };
  uint64_t varint() {
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      auto b = in_.number<uint8_t>();
      v |= static_cast<uint64_t>(b & 0x7F) << shift;
      if (b < 0x80) return v;
    }
    throw runtime_error("a number of more than 64 bits");
  }
  std::pair<Type, uint64_t> list_head() {
    auto head = in_.number<uint8_t>();
    uint64_t count = head >> 4 == 15 ? varint() : head >> 4;
    // Every element takes at least one byte.
    if (count > in_.left()) throw runtime_error("a list is longer than the file");
    return {static_cast<Type>(head & 15), count};
  }
  void skip_element(Type type) {
    if (type == True || type == False)
      in_.take(1);
    else
      skip(type);
  }
  void skip(Type type) {
    switch (type) {
      case True:
      case False: return;  // the type encodes the value
      case Byte: in_.take(1); return;
      case I16:
      case I32:
      case I64: varint(); return;
      case Double: in_.take(8); return;
      case Binary: binary(); return;
      case List:
      case Set: {
        Nest nest(*this);
        auto [element, count] = list_head();
        for (uint64_t i = 0; i < count; ++i)
          skip_element(element);
        return;
      }
      case Map: {
        Nest nest(*this);
        uint64_t count = varint();
        if (count > in_.left()) throw runtime_error("a map is longer than the file");
        uint8_t types = count > 0 ? in_.number<uint8_t>() : 0;
        for (uint64_t i = 0; i < count; ++i) {
          skip_element(static_cast<Type>(types >> 4));
          skip_element(static_cast<Type>(types & 15));
        }
        return;
      }
      case Struct: structure([](int, Type) { return false; }); return;
      default: throw runtime_error("a field of an unknown type");
    }
  }
  ByteReader in_;
  int depth_ = 0;
};

}  // namespace sheaf::formats
