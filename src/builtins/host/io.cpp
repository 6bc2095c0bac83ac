// (io VERB …): files and directories. Relative paths are relative to the current directory.
#include <fmt/format.h>
#include <glob.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "builtins/core/elements.h"
#include "builtins/core/text.h"
#include "builtins/core/warnings.h"
#include "builtins/host/families.h"
#include "builtins/host/process.h"
#include "formats/files.h"
#include "formats/raw_array.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void os_failure(std::string_view verb, const std::string& path, std::string_view reason) {
  throw runtime_error(fmt::format("io {} '{}': {}", verb, path, reason));
}

void check(const std::error_code& error, std::string_view verb, const std::string& path) {
  if (error) os_failure(verb, path, std::strerror(error.value()));
}

Value string_list(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  std::vector<Value> out;
  for (std::string& s : names)
    out.push_back(Value::string(std::move(s)));
  return Value::list(std::move(out));
}

Value entropy(const std::string&, Call&) {
  int64_t bits = 0;
  if (getentropy(&bits, sizeof bits) != 0) throw runtime_error(fmt::format("io entropy: {}", std::strerror(errno)));
  return Value::integer(bits);
}

// (io "map" path dtype [{:shape s :offset bytes}])
Value map_file(const std::string& path, Call& c) {
  Dims sizes;
  uint64_t offset = 0;
  if (c.size() > 3) {
    if (!c[3].is_dict()) throw runtime_error("io map: expected a dict of options, got " + short_text(c[3]));
    for (const DictEntry& e : c[3].as_dict().entries()) {
      if (e.key.str() == "shape") {
        sizes = to_dims(to_shape(e.value, "io map", true));
      } else if (e.key.str() == "offset") {
        int64_t bytes = to_index(e.value, "io map");
        if (bytes < 0) throw runtime_error(fmt::format("io map: an offset of {} bytes", bytes));
        offset = static_cast<uint64_t>(bytes);
      } else {
        throw runtime_error("io map: unknown option :" + e.key.str() + ". Known options: :offset :shape");
      }
    }
  }
  return formats::map_elements(path, to_dtype(c[2], "io map"), sizes, offset);
}

// (io "load" path [:objects :skip] [:columns names])
Value load(const std::string& path, Call& c) {
  formats::LoadOptions options;
  for (size_t at = 2; at < c.size(); at += 2) {
    std::string name = is_key(c[at]) ? key_name(c[at]).str() : "",
                got = at + 1 < c.size() ? short_text(c[at + 1]) : "nothing";
    if (name == "objects") {
      std::string choice = at + 1 < c.size() && is_key(c[at + 1]) ? key_name(c[at + 1]).str() : "";
      if (choice == "skip")
        options.objects = formats::Objects::Skip;
      else if (choice != "error")
        throw runtime_error("io load: :objects must be :error or :skip, got " + got);
    } else if (name == "columns") {
      auto refuse = [&] { return runtime_error("io load: :columns must be a list of names, got " + got); };
      if (at + 1 == c.size() || !c[at + 1].is_seq() || c[at + 1].items().empty()) throw refuse();
      for (const Value& column : c[at + 1].items()) {
        if (!is_key(column)) throw refuse();
        options.columns.push_back(key_name(column).str());
      }
    } else {
      throw runtime_error("io load: unknown option " + short_text(c[at]) + ". Known options: :objects :columns");
    }
  }
  return formats::load_value(path, options);
}

// (io "save" path value [:plain true] [:quality n])
Value save(const std::string& path, Call& c) {
  formats::SaveOptions options;
  if (c.size() > 3) {
    std::string name = is_key(c[3]) ? key_name(c[3]).str() : "";
    if (name != "plain" && name != "quality")
      throw runtime_error("io save: unknown option " + short_text(c[3]) + ". Known options: :plain :quality");
    if (name == "plain") {
      if (c.size() == 4 || !c[4].is_bool()) throw runtime_error("io save: :plain must be true or false");
      if (!path.ends_with(".json")) throw runtime_error("io save '" + path + "': :plain is for .json files");
      options.json.tagged = !c[4].as_bool();
    } else {
      int64_t quality = c.size() == 4 ? 0 : to_index(c[4], "io save :quality");
      if (quality < 1 || quality > 100) throw runtime_error("io save: :quality must be 1 to 100");
      if (!path.ends_with(".jpg") && !path.ends_with(".jpeg"))
        throw runtime_error("io save '" + path + "': :quality is for .jpg files");
      options.quality = static_cast<int>(quality);
    }
  }
  formats::save_value(path, trace::concrete_tree(c[2]), options);
  return {};
}

Value list_directory(const std::string& path, Call&) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  check(error, "ls", path);
  return string_list(std::move(names));
}

Value matching_paths(const std::string& pattern, Call&) {
  glob_t found{};
  int status = ::glob(pattern.c_str(), GLOB_TILDE | GLOB_BRACE, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (status != 0 && status != GLOB_NOMATCH) os_failure("glob", pattern, "cannot read a directory");
  return string_list(std::move(paths));
}

struct Verb {
  std::string_view name;
  size_t args, most;  // after the verb, a path first: required and maximal number
  Value (*run)(const std::string& path, Call& c);
};

const Verb kVerbs[] = {
    {"entropy", 0, 0, entropy},
    {"read", 1, 1, [](const std::string& path, Call&) { return Value::string(formats::read_text(path)); }},
    {"exists", 1, 1,
     [](const std::string& path, Call&) {
       std::error_code error;
       return Value::boolean(fs::exists(path, error));
     }},
    {"save", 2, 4, save},
    {"load", 1, 5, load},
    {"write", 2, 2,
     [](const std::string& path, Call& c) {
       formats::write_file(path, text_of(c[2]));
       return Value();
     }},
    {"append", 2, 2,
     [](const std::string& path, Call& c) {
       Value v = trace::concrete_tree(c[2]);
       bool elements = v.is_tensor() && path.ends_with(".bin");
       formats::append_file(path, elements ? std::string(formats::raw_bytes(contiguous(v.as_tensor()))) : text_of(v),
                            "io append");
       return Value();
     }},
    {"map", 2, 3, map_file},
    {"ls", 1, 1, list_directory},
    {"glob", 1, 1, matching_paths},
    {"mkdir", 1, 1,
     [](const std::string& path, Call&) {
       std::error_code error;
       fs::create_directories(path, error);
       check(error, "mkdir", path);
       return Value();
     }},
    {"rm", 1, 1,
     [](const std::string& path, Call&) {
       std::error_code error;
       bool existed = fs::remove(path, error);
       check(error, "rm", path);
       return Value::boolean(existed);
     }},
};

Value io(Call& c) {
  if (c.size() == 0 || !is_key(c[0])) throw runtime_error("io: first argument must be a string verb");
  const std::string& name = key_name(c[0]).str();
  for (const Verb& v : kVerbs) {
    if (v.name != name) continue;
    if (c.size() - 1 < v.args)
      throw runtime_error(
          fmt::format("io {}: expected {} argument{}, got {}", name, v.args, v.args == 1 ? "" : "s", c.size() - 1));
    if (c.size() - 1 > v.most) warn(fmt::format("io {} ignores argument {}", name, v.most + 1));
    if (v.args == 0) return v.run("", c);
    if (!c[1].is_string())
      throw runtime_error(fmt::format("io {}: path must be a string, got {}", name, type_name(c[1])));
    formats::check_path(c[1].as_string(), "io " + name);
    return v.run(c[1].as_string(), c);
  }
  std::string known;
  for (const Verb& v : kVerbs)
    known += (known.empty() ? "" : " ") + std::string(v.name);
  throw runtime_error(fmt::format("io: unknown verb '{}'", name)).hint("the verbs are " + known);
}

// (%save-checkpoint path state)
Value save_checkpoint(Call& c) {
  formats::save_checkpoint(c[0].as_string(), trace::concrete_tree(c[1]), program_options());
  return {};
}

// (%load-checkpoint path): {:state … :options …}, or {:damage text} for an incomplete file.
Value load_checkpoint(Call& c) {
  formats::LoadedCheckpoint found = formats::load_checkpoint(c[0].as_string());
  if (!found.damage.empty()) return make_dict({{Name("damage"), Value::string(std::move(found.damage))}});
  return make_dict({{Name("options"), std::move(found.options)}, {Name("state"), std::move(found.state)}});
}

// (%set-aside path): the new name of a damaged file; nil if it cannot be renamed.
Value set_aside(Call& c) {
  try {
    return Value::string(formats::set_aside(c[0].as_string(), ".damaged", "resume"));
  } catch (const UserError&) {
    return {};
  }
}

const BuiltinDef kBuiltins[] = {
    {"%save-checkpoint", "", "", "", {}, 2, 2, save_checkpoint, {}, Effect::Input},
    {"%load-checkpoint", "", "", "", {}, 1, 1, load_checkpoint, {}, Effect::Input},
    {"%set-aside", "", "", "", {}, 1, 1, set_aside, {}, Effect::Input},
    {"io",
     "Files",
     "(io verb path …)",
     "Files; those compressed by gzip or zstd are read as what is in them. \"read\" path: the text; \"write\" "
     "and \"append\" path text; \"load\" path and \"save\" path value: by format (.safetensors, .npy, .npz, .csv, "
     ".tsv, .jsonl, .png, .jpg, .wav; PyTorch's .pt and .pth; pickles and .parquet for loading; a directory of "
     ".npy files; else JSON), parent directories are made and files replaced as a whole. The checksums that a "
     "checkpoint has are checked. A file of another program is an error that says what it is. A pickled object "
     "that is no tensor, number, text or container is an error that names its class and key, or nil with :objects "
     ":skip after the path. :columns names there reads these columns of a Parquet table only. JSON marks tensors, "
     "tuples and keywords, so that they come back as what they were; with :plain true after the value they are "
     "plain arrays and text. :quality after the value is that of a .jpg, 1 to 100 (90). In PyTorch's files a dict "
     "all of whose keys are spelt as ints has ints for keys. A tensor saved as .bin, or appended to one, is its "
     "elements and nothing else, other values there are PyTorch checkpoints. \"map\" path dtype [{:shape s "
     ":offset bytes}]: a tensor over the elements of a file of any size, read as they are used; \"exists\" path; "
     "\"ls\" directory: names; \"glob\" pattern: paths; \"mkdir\" path; \"rm\" path: a file or empty directory, "
     "was it there?; \"entropy\": a random int from the system.",
     {{"(io \"exists\" \"/no/such/file\")", "false"},
      {"(do (io \"save\" \"s.safetensors\" {:w [1 2] :step 3 :note nil}) (io \"load\" \"s.safetensors\"))",
       "{:note nil, :step 3, :w [1. 2.]}"},
      {"(do (io \"save\" \"p.json\" {:sizes [64 10]} :plain true) (io \"read\" \"p.json\"))",
       "{\"sizes\":[64.0,10.0]}"},
      {"(do (io \"write\" \"t.bin\" \"abcd\") (io \"map\" \"t.bin\" :u8))", "[ 97  98  99 100]"}},
     0,
     -1,
     io,
     {},
     Effect::Input},
};

}  // namespace

std::span<const BuiltinDef> io_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
