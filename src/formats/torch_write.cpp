// Archives in the format of torch.save: a pickle of the tree, in which tensors refer to their storages, and an entry
// for each storage.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "formats/pickle_node.h"
#include "formats/torch.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

constexpr int kMaxDepth = 200;  // Python's own unpickler supports far less depth
constexpr size_t kAlign = 64;   // alignment of storages, so that both sides can map them

[[noreturn]] void fail(const std::string& message) { throw runtime_error("torch: " + message); }

// 0.1f as 0.1, the intended number: as a double it would be 0.10000000149011612.
double as_python_reads(float f) {
  char digits[64];
  char* end = std::to_chars(digits, digits + sizeof digits, f).ptr;
  double d = 0;
  std::from_chars(digits, end, d);
  return static_cast<float>(d) == f ? d : f;
}

// Keys are text here. PyTorch dicts with int keys (an optimizer's state) consist of number-like keys only. Among other
// names a number is an ordinary key, as in a vocabulary.
bool has_int_keys(const DictObj& d) {
  auto is_int = [](const DictEntry& e) {
    const std::string& s = e.key.str();
    int64_t n = 0;
    auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
    return error == std::errc() && end == s.data() + s.size() && std::to_string(n) == s;
  };
  return d.size() > 0 && std::all_of(d.entries().begin(), d.entries().end(), is_int);
}

// Protocol 2, as torch.save uses: loadable with weights_only, which calls only the functions that rebuild tensors.
class PickleWriter {
 public:
  std::string program{"\x80\x02", 2};
  std::vector<Tensor> storages;

  void write(const Value& v, int depth) {
    if (depth > kMaxDepth) fail(fmt::format("containers are nested deeper than {}", kMaxDepth));
    switch (v.tag()) {
      case Tag::Nil: program += 'N'; break;
      case Tag::Bool: program += v.as_bool() ? '\x88' : '\x89'; break;
      case Tag::Int: integer(v.as_int()); break;
      case Tag::Float: number(v.has_more_digits() ? v.as_double() : as_python_reads(v.as_float())); break;
      case Tag::Keyword: text(v.as_keyword().str()); break;
      case Tag::String: text(v.as_string()); break;
      case Tag::List:
        program += "](";
        for (const Value& item : v.items())
          write(item, depth + 1);
        program += 'e';
        break;
      case Tag::Tuple:
        program += '(';
        for (const Value& item : v.items())
          write(item, depth + 1);
        program += 't';
        break;
      case Tag::Dict: {
        bool ints = has_int_keys(v.as_dict());
        program += "}(";
        for (const DictEntry& e : v.as_dict().entries()) {
          if (ints)
            integer(std::stoll(e.key.str()));
          else
            text(e.key.str());
          write(e.value, depth + 1);
        }
        program += 'u';
        break;
      }
      case Tag::Tensor: tensor(contiguous(v.as_tensor())); break;
      default: fail("cannot serialize " + std::string(type_name(v)) + " (only data)");
    }
  }

 private:
  template <class T>
  void put(T v) {
    program.append(reinterpret_cast<const char*>(&v), sizeof v);
  }

  void integer(int64_t v) {
    if (v == static_cast<int32_t>(v)) {
      program += 'J';
      put(static_cast<int32_t>(v));
    } else {
      program += "\x8a\x08";
      put(v);
    }
  }
  void number(double v) {
    auto bits = std::bit_cast<uint64_t>(v);
    program += 'G';
    for (int shift = 56; shift >= 0; shift -= 8)
      program += static_cast<char>(bits >> shift);
  }
  void text(std::string_view s) {
    if (s.size() > 0xFFFFFFFFu) fail("a text above 4 GiB");
    program += 'X';
    put(static_cast<uint32_t>(s.size()));
    program += s;
  }
  void global(std::string_view module, std::string_view name) {
    program.append("c").append(module).append("\n").append(name).append("\n");
  }
  void ints(const Dims& values) {
    program += '(';
    for (int64_t d : values)
      integer(d);
    program += 't';
  }

  // _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks); _v3 with a dtype for types without a
  // storage class.
  void tensor(const Tensor& t) {
    std::string_view storage = pickle::torch_storage_of(t.dtype);
    bool typed = storage.empty();
    global("torch._utils", typed ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
    program += "((";
    text("storage");
    if (typed)
      global("torch.storage", "UntypedStorage");
    else
      global("torch", storage);
    text(std::to_string(storages.size()));
    text("cpu");
    integer(t.num_elems() * (typed ? size_bytes(t.dtype) : 1));
    program += "tQ";
    integer(0);
    ints(t.sizes);
    ints(contiguous_strides(t.sizes));
    program += '\x89';
    global("collections", "OrderedDict");
    program += ")R";
    if (typed) global("torch", pickle::torch_dtype_of(t.dtype));
    program += "tR";
    storages.push_back(t);
  }
};

}  // namespace

std::string write_torch(const Value& v) {
  PickleWriter pickle;
  pickle.write(v, 0);
  pickle.program += '.';
  std::vector<std::string> names;
  for (size_t i = 0; i < pickle.storages.size(); ++i)
    names.push_back("archive/data/" + std::to_string(i));
  std::vector<ZipEntry> entries = {{"archive/data.pkl", pickle.program, 0, nullptr},
                                   {"archive/byteorder", "little", 0, nullptr}};
  for (size_t i = 0; i < names.size(); ++i)
    entries.push_back({names[i], raw_bytes(pickle.storages[i]), 0, nullptr});
  entries.push_back({"archive/version", "3\n", 0, nullptr});
  return write_zip(entries, {.align = kAlign});
}

}  // namespace sheaf::formats
