#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "formats/json.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

// A float always has a point or an exponent, so that it reads back as a float.
template <class T>
void append_float(std::string& out, T v) {
  if (!std::isfinite(v)) {
    out += "null";
    return;
  }
  char buf[64];
  T size = std::fabs(v);
  bool plain = v == 0 || (size >= T(1e-5) && size < T(1e16));
  auto r = std::to_chars(buf, buf + sizeof buf, v, plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string_view text(buf, r.ptr - buf);
  out += text;
  if (plain && text.find('.') == std::string_view::npos) out += ".0";
}

void append_string(std::string& out, const std::string& s) {
  out += nlohmann::json(s).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class Writer {
 public:
  explicit Writer(const JsonOptions& options) : options_(options) {}

  void write(const Value& v, int depth) {
    if (depth > kMaxJsonDepth)
      throw runtime_error("cannot serialize values nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
    switch (v.tag()) {
      case Tag::Nil: out_ += "null"; break;
      case Tag::Bool: out_ += v.as_bool() ? "true" : "false"; break;
      case Tag::Int: out_ += std::to_string(v.as_int()); break;
      case Tag::Float: number(v.as_double()); break;
      case Tag::String: append_string(out_, v.as_string()); break;
      case Tag::Keyword:
        if (options_.tagged) out_ += "{\"__keyword\":";
        append_string(out_, v.as_keyword().str());
        if (options_.tagged) out_ += '}';
        break;
      case Tag::List: array(v, depth); break;
      case Tag::Tuple:
        if (options_.tagged) out_ += "{\"__tuple\":";
        array(v, depth);
        if (options_.tagged) out_ += '}';
        break;
      case Tag::Dict: object(v, depth); break;
      case Tag::Tensor: tensor(v.as_tensor()); break;
      case Tag::Traced: write(v.as_traced()->concrete(), depth); break;
      case Tag::Function:
      case Tag::Builtin: throw runtime_error("cannot serialize functions");
      default: throw runtime_error("cannot serialize " + std::string(type_name(v)));
    }
  }
  std::string result() { return std::move(out_); }

 private:
  // Saved floats are spelt as the double they equal; `json-str` writes what a person would.
  // With all its digits where it is to come back as it was; as the program prints it where others read it.
  void number(double d) {
    if (options_.tagged)
      append_float(out_, d);
    else
      append_float(out_, static_cast<float>(d));
  }

  void array(const Value& v, int depth) {
    out_ += '[';
    for (size_t i = 0; i < v.items().size(); ++i) {
      if (i > 0) out_ += ',';
      write(v.items()[i], depth + 1);
    }
    out_ += ']';
  }

  void object(const Value& v, int depth) {
    out_ += '{';
    bool first = true;
    for (const DictEntry& e : v.as_dict().entries()) {
      if (!first) out_ += ',';
      first = false;
      append_string(out_, e.key.str());
      out_ += ':';
      write(e.value, depth + 1);
    }
    out_ += '}';
  }

  void element(DType d, const std::byte* p) {
    if (is_complex(d))
      throw runtime_error("cannot serialize complex numbers").hint("(as-pair z) gives pairs of floats");
    if (d == DType::F64)
      append_float(out_, load_double(d, p));
    else if (is_float(d))
      number(load_double(d, p));
    else if (d == DType::Bool && !options_.tagged)
      out_ += *p == std::byte{0} ? "false" : "true";
    else
      out_ += std::to_string(d == DType::I64 ? int64_at(p) : static_cast<int64_t>(load_double(d, p)));
  }

  static int64_t int64_at(const std::byte* p) {
    int64_t v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }

  void tensor(const Tensor& t0) {
    Tensor t = contiguous(t0);
    const std::byte* p = t.bytes();
    if (!options_.tagged) return nested(t, 0, p);
    out_ += "{\"__tensor\":true,\"data\":[";
    for (int64_t i = 0; i < t.num_elems(); ++i, p += size_bytes(t.dtype)) {
      if (i > 0) out_ += ',';
      element(t.dtype, p);
    }
    out_ += "],\"dtype\":\"" + std::string(name_of(t.dtype)) + "\",\"shape\":[";
    for (int a = 0; a < t.rank(); ++a)
      out_ += (a ? "," : "") + std::to_string(t.sizes[a]);
    out_ += "]}";
  }

  // Arrays within arrays; moves `p` past the elements written.
  void nested(const Tensor& t, int axis, const std::byte*& p) {
    if (axis == t.rank()) {
      element(t.dtype, p);
      p += size_bytes(t.dtype);
      return;
    }
    out_ += '[';
    for (int64_t i = 0; i < t.sizes[axis]; ++i) {
      if (i > 0) out_ += ',';
      nested(t, axis + 1, p);
    }
    out_ += ']';
  }

  const JsonOptions& options_;
  std::string out_;
};

}  // namespace

std::string write_json(const Value& v, const JsonOptions& options) {
  Writer writer(options);
  writer.write(v, 0);
  return writer.result();
}

}  // namespace sheaf::formats
