#include "formats/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "formats/compressed.h"
#include "formats/csv.h"
#include "formats/jpeg.h"
#include "formats/mapped_file.h"
#include "formats/npy.h"
#include "formats/parquet.h"
#include "formats/pickle.h"
#include "formats/png.h"
#include "formats/raw_array.h"
#include "formats/safetensors.h"
#include "formats/signatures.h"
#include "formats/torch.h"
#include "formats/wav.h"
#include "formats/zip.h"
#include "support/interrupt.h"
#include "support/mutex.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void os_failure(std::string_view verb, const std::string& path, int error) {
  throw runtime_error(std::string(verb) + " '" + path + "': " + std::strerror(error));
}

void make_parents(const std::string& path, std::string_view verb) {
  std::error_code error;
  fs::path parent = fs::path(path).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  if (error) os_failure(verb, path, error.value());
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  // Returns false with errno set if the system reports a late write error.
  bool close() {
    int fd = fd_;
    fd_ = -1;
    return ::close(fd) == 0;
  }

 private:
  int fd_;
};

// Opening a named pipe blocks until its other end opens.
int open_unless_stopped(const std::string& path, int flags) {
  for (;;) {
    int fd = ::open(path.c_str(), flags | O_CLOEXEC);
    if (fd >= 0 || errno != EINTR) return fd;
    heed_interrupt();
  }
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

mode_t new_file_mode(const std::string& target) {
  struct stat info{};
  if (::stat(target.c_str(), &info) == 0) return info.st_mode & 07777;
  mode_t mask = ::umask(0);  // the mask can only be read by setting it
  ::umask(mask);
  return 0666 & ~mask;
}

bool is_special(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

// Temporary files before they are renamed. Their writer holds a lock on them, which ends with the process, so an
// unlocked one is left over from a killed program. The name is independent of the target's, which may have the maximal
// length.
constexpr std::string_view kPartStart = ".sheaf-", kPartEnd = ".part";

bool is_part(std::string_view name) {
  return name.size() == kPartStart.size() + 6 + kPartEnd.size() && name.starts_with(kPartStart) &&
         name.ends_with(kPartEnd);
}

void remove_if_abandoned(const fs::path& part) {
  File file(::open(part.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.ok() && ::flock(file.fd(), LOCK_EX | LOCK_NB) == 0) ::unlink(part.c_str());
}

// Once per directory: a live process leaves nothing behind.
void remove_abandoned_parts(const fs::path& directory) {
  static Mutex mu;
  static auto* done = new std::set<fs::path>;
  std::error_code error;
  fs::path whole = fs::absolute(directory, error);
  {
    MutexLock lock(mu);
    if (!done->insert(whole).second) return;
  }
  for (fs::directory_iterator it(whole, error), end; !error && it != end; it.increment(error))
    if (is_part(it->path().filename().native())) remove_if_abandoned(it->path());
}

// Creates and locks a temporary file and sets `path` to its name; returns -1 with errno set on failure.
int open_part(const fs::path& directory, std::string& path) {
  for (;;) {
    path = (directory / (std::string(kPartStart) + "XXXXXX" + std::string(kPartEnd))).string();
    int fd = ::mkostemps(path.data(), static_cast<int>(kPartEnd.size()), O_CLOEXEC);
    if (fd < 0) return fd;
    ::flock(fd, LOCK_EX);  // without lock support nothing ever counts as abandoned
    struct stat info{};
    if (::fstat(fd, &info) != 0 || info.st_nlink > 0) return fd;
    ::close(fd);  // another process removed it before it was locked
  }
}

// Writes a temporary file in the target's folder and renames it to the target; errno tells what failed.
bool replace_file(const fs::path& target, std::span<const std::string_view> parts) {
  fs::path directory = target.has_parent_path() ? target.parent_path() : fs::path(".");
  remove_abandoned_parts(directory);
  mode_t mode = new_file_mode(target);
  std::string part;
  File file(open_part(directory, part));
  if (!file.ok()) return false;
  bool written = ::fchmod(file.fd(), mode) == 0;
  for (std::string_view bytes : parts)
    written = written && write_all(file.fd(), bytes);
  // Renames before closing: closing releases the lock, and after fsync no close can lose the data.
  if (written && ::fsync(file.fd()) == 0 && ::rename(part.c_str(), target.c_str()) == 0) {
    // The new name is an entry of the directory, which must be flushed too; some file systems do not support that.
    File entry(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (entry.ok()) ::fsync(entry.fd());
    return true;
  }
  int error = errno;
  ::unlink(part.c_str());
  errno = error;
  return false;
}

// Files of at least this size are mapped: pages that a program does not access are never read.
constexpr int64_t kMapFrom = 1 << 20;

char separator_of(const std::string& path) { return path.ends_with(".tsv") ? '\t' : ','; }
bool is_table(const std::string& path) { return path.ends_with(".csv") || path.ends_with(".tsv"); }

[[noreturn]] void refuse(const Foreign& f) {
  throw runtime_error(fmt::format("this is {}, which is not read here", f.what)).hint(std::string(f.advice));
}

// True for the formats that are recognised by their first bytes.
bool has_first_bytes(const std::string& path) {
  for (std::string_view end : {".npy", ".npz", ".pt", ".pth", ".bin", ".png", ".jpg", ".jpeg", ".parquet", ".wav"})
    if (path.ends_with(end)) return true;
  return false;
}

// Reports a file of an unknown format, whose name may suggest another one.
[[noreturn]] void refuse_unknown(const std::string& path, std::string_view bytes) {
  std::string start = bytes.empty() ? "it is empty" : "it begins with the bytes";
  for (unsigned char c : bytes.substr(0, 8))
    start += fmt::format(" {:02x}", c);
  std::string promise = has_first_bytes(path) ? fs::path(path).extension().string() : "";
  throw runtime_error(promise.empty() ? "no format known here: " + start
                                      : fmt::format("not a {} file: {}", promise, start))
      .hint("plain elements of one dtype are read by (io \"map\" path dtype)");
}

Value parse_archive(const std::string& path, std::string_view bytes, const Ref<Buffer>& whole, Objects objects) {
  std::vector<ZipEntry> entries = read_zip(bytes);
  if (const Foreign* f = recognise_archive(entries)) refuse(*f);
  if (is_torch_archive(entries) || path.ends_with(".pt") || path.ends_with(".pth") || path.ends_with(".bin"))
    return parse_torch_archive(entries, whole, objects);
  bool arrays =
      entries.empty() || std::any_of(entries.begin(), entries.end(), [](const ZipEntry& e) { return is_npy(e.data); });
  if (arrays) return parse_npz(entries, whole);
  throw runtime_error(fmt::format("this is a zip archive of {} file{}, '{}' first, and none is an array of NumPy",
                                  entries.size(), entries.size() == 1 ? "" : "s", entries[0].name))
      .hint("unpack it and load the files in it");
}

// JSON is the format for all other names, including those that suggest another format.
Value parse_text(const std::string& path, std::string_view bytes) {
  try {
    return parse_json(bytes);
  } catch (UserError& e) {
    if (!path.ends_with(".json"))
      e.hints.push_back(
          "files are taken for JSON when neither name nor contents say otherwise; (io \"read\" path) gives "
          "the text of one");
    throw;
  }
}

Value parse_any(const std::string& path, std::string_view bytes, const Ref<Buffer>& whole, const LoadOptions& options) {
  if (is_compressed(bytes)) {
    std::string inner = decompress(bytes);
    // Only one level: a file compressed twice is refused like any other unsupported file.
    if (!is_compressed(inner)) return parse_any(inner_name(path), inner, {}, options);
  }
  if (is_parquet(bytes)) return parse_parquet(bytes, options.columns);
  if (!options.columns.empty()) throw runtime_error(":columns is for Parquet tables, and this is none");
  if (is_safetensors(bytes)) return parse_safetensors(bytes, whole);
  if (is_npy(bytes)) return parse_npy(bytes, whole);
  if (is_zip(bytes)) return parse_archive(path, bytes, whole, options.objects);
  if (is_torch_legacy(bytes)) return parse_torch_legacy(bytes, whole, options.objects);
  if (bytes.starts_with('\x80')) return parse_pickle(bytes, options.objects);
  if (is_png(bytes)) return parse_png(bytes);
  if (is_jpeg(bytes)) return parse_jpeg(bytes);
  if (is_wav(bytes)) return parse_wav(bytes);
  if (const Foreign* f = recognise(bytes, path)) refuse(*f);
  if (path.ends_with(".safetensors")) return parse_safetensors(bytes, whole);  // reports what is wrong with it
  if (is_binary(bytes)) refuse_unknown(path, bytes);
  if (is_table(path)) return parse_csv(bytes, separator_of(path));
  if (path.ends_with(".jsonl")) return parse_json_lines(bytes);
  if (has_first_bytes(path) && !bytes.starts_with('{') && !bytes.starts_with('[')) refuse_unknown(path, bytes);
  return parse_text(path, bytes);
}

// Runs `parse`; its errors name `path`.
template <class F>
auto reading(const std::string& path, F&& parse) {
  try {
    return parse();
  } catch (UserError& e) {
    if (!e.message.starts_with("io load")) e.message = "io load: parse '" + path + "': " + e.message;
    throw;
  }
}

// Calls parse(bytes, buffer) with the buffer of a mapped file, or none.
template <class F>
auto with_bytes(const std::string& path, F&& parse) {
  std::error_code error;
  auto size = fs::is_regular_file(path, error) ? static_cast<int64_t>(fs::file_size(path, error)) : 0;
  if (size >= kMapFrom) {
    Ref<Buffer> whole = map_file(path, "io load", Use::Whole);
    return parse(bytes_of(*whole), whole);
  }
  return parse(read_file(path, "io load"), Ref<Buffer>{});
}

Value load_file(const std::string& path, const LoadOptions& options) {
  return with_bytes(path, [&](std::string_view bytes, const Ref<Buffer>& whole) {
    return reading(path, [&] { return parse_any(path, bytes, whole, options); });
  });
}

// {"weight_map": {"layer.w": "model-00001-of-00002.safetensors", …}}
Value load_sharded(const std::string& path) {
  return reading(path, [&] {
    Value index = parse_json(read_file(path, "io load"), {.tagged = false});
    const Value* map = index.is_dict() ? index.as_dict().find(Name("weight_map")) : nullptr;
    if (!map || !map->is_dict()) throw runtime_error("there is no \"weight_map\"");
    std::map<std::string, std::set<std::string>> wanted;  // by file
    for (const DictEntry& e : map->as_dict().entries()) {
      if (!e.value.is_string() || e.value.as_string().find('/') != std::string::npos)
        throw runtime_error("'" + e.key.str() + "' is in no file beside the index");
      wanted[e.value.as_string()].insert(e.key.str());
    }
    std::vector<KeyedTensor> all;
    for (auto& [file, names] : wanted) {
      std::string shard = (fs::path(path).parent_path() / file).string();
      Ref<Buffer> whole = map_file(shard, "io load", Use::Whole);
      auto parse = [&] {
        if (const Foreign* f = recognise(bytes_of(*whole), shard)) refuse(*f);
        return parse_shard(bytes_of(*whole), whole);
      };
      for (KeyedTensor& t : reading(shard, parse))
        if (names.erase(t.key)) all.push_back(std::move(t));
      if (!names.empty()) throw runtime_error(fmt::format("'{}' should be in '{}' and is not", *names.begin(), file));
    }
    return tree_from_keys(std::move(all));
  });
}

// `names` receives the directory's file names; `arrays` counts those read, here and in subdirectories.
Value load_level(const std::string& path, std::vector<std::string>& names, size_t& arrays) {
  std::vector<DictEntry> entries;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::vector<std::string> inner;
    names.push_back(it->path().filename().string());
    if (it->is_directory())
      entries.push_back({Name(names.back()), load_level(it->path().string(), inner, arrays)});
    else if (it->path().extension() == ".npy")
      entries.push_back({Name(it->path().stem().string()), load_file(it->path().string(), {})}), ++arrays;
  }
  if (error) os_failure("io load", path, error.value());
  return make_dict(std::move(entries));
}

Value load_directory(const std::string& path) {
  std::vector<std::string> names;
  size_t arrays = 0;
  Value v = load_level(path, names, arrays);
  if (arrays > 0) return v;
  return reading(path, [&]() -> Value {
    if (const Foreign* f = recognise_directory(names)) refuse(*f);
    throw runtime_error("the directory holds no .npy files").hint("(io \"ls\" path) gives the names of its files");
  });
}

void save_directory(const std::string& path, const Value& v) {
  if (!v.is_dict())
    throw runtime_error("io save '" + path + "': a directory holds a dict of tensors, not " +
                        std::string(type_name(v)));
  for (const DictEntry& e : v.as_dict().entries()) {
    std::string name = e.key.str();
    if (name.empty() || name.find('/') != std::string::npos)
      throw runtime_error("io save '" + path + "': '" + name + "' cannot be the name of a file");
    if (e.value.is_dict())
      save_directory(path + name + "/", e.value);
    else
      save_value(path + name + ".npy", e.value);
  }
}

void write_safetensors_file(const std::string& path, const SafetensorsFile& file) {
  std::vector<std::string_view> parts = {file.header};
  for (const Tensor& t : file.arrays)
    parts.push_back(raw_bytes(t));
  write_file(path, parts, "io save");
}

std::string text_for(const std::string& path, const Value& v, const SaveOptions& options) {
  if (path.ends_with(".npz")) return write_npz(v);
  if (path.ends_with(".pt") || path.ends_with(".pth") || (path.ends_with(".bin") && !v.is_tensor()))
    return write_torch(v);
  if (path.ends_with(".bin")) return std::string(raw_bytes(contiguous(v.as_tensor())));
  if (path.ends_with(".png")) return write_png(v);
  if (path.ends_with(".jpg") || path.ends_with(".jpeg")) return write_jpeg(v, options.quality);
  if (path.ends_with(".wav")) return write_wav(v);
  if (is_table(path)) return write_csv(v, separator_of(path));
  if (path.ends_with(".jsonl")) return write_json_lines(v);
  if (!path.ends_with(".npy")) return write_json(v, options.json);
  if (!v.is_tensor()) throw runtime_error("npy: cannot serialize " + std::string(type_name(v)) + " (only a tensor)");
  return write_npy(v.as_tensor());
}

// True for messages that already name their format.
bool names_its_format(const std::string& message) {
  for (std::string_view who :
       {"safetensors: ", "npy: ", "npz: ", "zip: ", "torch: ", "png: ", "jpeg: ", "parquet: ", "wav: ", "csv: "})
    if (message.starts_with(who)) return true;
  return false;
}

}  // namespace

void check_path(const std::string& path, std::string_view verb) {
  if (path.find('\0') == std::string::npos) return;
  std::string shown;
  for (char c : path)
    shown += c == '\0' ? "\\0" : std::string(1, c);
  throw runtime_error(fmt::format("{} '{}': a path cannot hold a NUL character", verb, shown));
}

std::string read_file(const std::string& path, std::string_view verb) {
  check_path(path, verb);
  File file(open_unless_stopped(path, O_RDONLY));
  if (!file.ok()) os_failure(verb, path, errno);
  struct stat info{};
  std::string out;
  // Pipes and /proc files report no size, so the size is only a first guess.
  size_t guess = ::fstat(file.fd(), &info) == 0 && info.st_size > 0 ? static_cast<size_t>(info.st_size) : 0;
  size_t used = 0;
  for (;;) {
    if (used == out.size()) out.resize(used == 0 ? guess + 1 : used * 2 + 4096);
    ssize_t n = ::read(file.fd(), out.data() + used, out.size() - used);
    if (n < 0 && errno == EINTR) {
      heed_interrupt();
      continue;
    }
    if (n < 0) os_failure(verb, path, errno);
    if (n == 0) break;
    used += static_cast<size_t>(n);
  }
  out.resize(used);
  return out;
}

std::string read_text(const std::string& path) {
  std::string bytes = read_file(path);
  if (!is_compressed(bytes)) return bytes;
  try {
    return decompress(bytes);
  } catch (UserError& e) {
    e.message = "io read '" + path + "': " + e.message;
    throw;
  }
}

void write_file(const std::string& path, std::string_view bytes, std::string_view verb) {
  write_file(path, std::span(&bytes, 1), verb);
}

void write_file(const std::string& path, std::span<const std::string_view> parts, std::string_view verb) {
  check_path(path, verb);
  make_parents(path, verb);
  if (is_special(path)) {  // /dev/stdout, a named pipe: cannot be replaced
    File file(open_unless_stopped(path, O_WRONLY));
    bool ok = file.ok();
    for (std::string_view part : parts)
      ok = ok && write_all(file.fd(), part);
    if (!ok || !file.close()) os_failure(verb, path, errno);
    return;
  }
  std::error_code error;
  // A symbolic link stays one; its target is replaced.
  fs::path target =
      fs::is_symlink(fs::symlink_status(path, error)) ? fs::weakly_canonical(path, error) : fs::path(path);
  if (error && error != std::errc::no_such_file_or_directory) os_failure(verb, path, error.value());
  if (!replace_file(target, parts)) os_failure(verb, path, errno);
}

void append_file(const std::string& path, std::string_view bytes, std::string_view verb) {
  check_path(path, verb);
  make_parents(path, verb);
  File file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!file.ok() || !write_all(file.fd(), bytes) || !file.close()) os_failure(verb, path, errno);
}

Value load_value(const std::string& path, const LoadOptions& options) {
  check_path(path, "io load");
  std::error_code error;
  if (path.ends_with(".safetensors.index.json")) return load_sharded(path);
  return fs::is_directory(path, error) ? load_directory(path) : load_file(path, options);
}

void save_value(const std::string& path, const Value& v, const SaveOptions& options) {
  if (path.ends_with('/')) return save_directory(path, v);
  try {
    if (path.ends_with(".safetensors")) return write_safetensors_file(path, describe_safetensors(v));
    write_file(path, text_for(path, v, options), "io save");
  } catch (UserError& e) {
    if (!names_its_format(e.message) && !e.message.starts_with("io save")) e.message = "io save: " + e.message;
    throw;
  }
}

void save_checkpoint(const std::string& path, const Value& state, const Value& options) {
  write_safetensors_file(path, describe_checkpoint({state, options}));
}

LoadedCheckpoint load_checkpoint(const std::string& path) {
  return with_bytes(path, [](std::string_view bytes, const Ref<Buffer>& whole) -> LoadedCheckpoint {
    try {
      Checkpoint c = parse_checkpoint(bytes, whole);
      return {std::move(c.state), std::move(c.options), ""};
    } catch (const StopError&) {
      throw;
    } catch (const UserError& e) {
      // Exhausted memory says nothing about the file.
      if (e.message.find("bytes asked for") != std::string::npos) throw;
      return {{}, {}, bytes.empty() ? "the file is empty" : e.message};
    }
  });
}

std::string set_aside(const std::string& path, std::string_view ending, std::string_view verb) {
  std::error_code error;
  std::string name = path + std::string(ending);
  for (int i = 2; fs::exists(name, error); ++i)
    name = fmt::format("{}{}-{}", path, ending, i);
  fs::rename(path, name, error);
  if (error) os_failure(verb, path, error.value());
  return name;
}

Value map_elements(const std::string& path, DType dtype, const Dims& sizes, uint64_t skip_bytes) {
  check_path(path, "io map");
  Ref<Buffer> whole = map_file(path, "io map", Use::InPlaces);
  auto fail = [&](const std::string& reason) { throw runtime_error("io map '" + path + "': " + reason); };
  if (dtype == DType::Bool) fail("bools are not mapped; map :u8 and compare");
  auto width = static_cast<uint64_t>(size_bytes(dtype));
  if (skip_bytes > whole->size_bytes() || skip_bytes % width != 0)
    fail(fmt::format("an offset of {} bytes in a file of {}", skip_bytes, whole->size_bytes()));
  uint64_t bytes = whole->size_bytes() - skip_bytes;
  if (bytes % width != 0) fail(fmt::format("{} bytes are not a whole number of {} elements", bytes, name_of(dtype)));
  auto n = static_cast<int64_t>(bytes / width);
  Dims shape = sizes.empty() ? Dims{n} : sizes;
  auto open = std::find(shape.begin(), shape.end(), -1);
  if (open != shape.end()) {
    *open = 1;
    int64_t rest = checked_file_elems(shape);
    if (rest == 0 || n % rest != 0) fail(fmt::format("{} elements do not fill rows of {}", n, rest));
    *open = n / rest;
  }
  if (checked_file_elems(shape) != n)
    fail(fmt::format("a shape of {} needs {} elements, the file has {}", shape_text(shape), checked_file_elems(shape),
                     n));
  if (n == 0) return Value::tensor(empty_tensor(dtype, shape));
  return Value::tensor({dtype, shape, contiguous_strides(shape), static_cast<int64_t>(skip_bytes / width), whole});
}

}  // namespace sheaf::formats
