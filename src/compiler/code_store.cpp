#include "compiler/code_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <tuple>

#include "support/mutex.h"

namespace sheaf::compiler {

namespace fs = std::filesystem;

std::string CodeKey::hex() const { return fmt::format("{:016x}{:016x}", words[0], words[1]); }

namespace {

// File format: magic, checksum of all that follows, key, identity, label, calls of each kernel, ELF object. Numbers are
// little-endian 64-bit; texts are preceded by their length.
constexpr std::string_view kMagic = "sheaf code 1\n";
constexpr std::string_view kSuffix = ".code", kLinesSuffix = ".lines";
// The time of last use is updated at most this often: a use should not cost a write.
constexpr std::time_t kUseGrain = 3600;

Mutex mu;
fs::path folder GUARDED_BY(mu);
uint64_t limit_bytes GUARDED_BY(mu) = kDefaultFolderBytes;
uint64_t known_bytes GUARDED_BY(mu) = 0;  // of the folder, once counted
bool counted GUARDED_BY(mu) = false;

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// True if we own it and nobody else may write to it.
bool is_private(int fd, mode_t type) {
  struct stat st;
  return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
         !(st.st_mode & (S_IWGRP | S_IWOTH));
}

// Opens the folder, if it can be trusted; creates it if `make` is set.
int open_folder(const fs::path& path, bool make) {
  if (path.empty()) return -1;
  if (make) {
    std::error_code ec;
    fs::create_directories(path.parent_path(), ec);
    mkdir(path.c_str(), 0700);
  }
  int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0 && !is_private(fd, S_IFDIR)) {
    close(fd);
    return -1;
  }
  return fd;
}

uint64_t checksum(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

// Each build and each processor has a file of its own.
std::string lines_file(std::string_view name) {
  return fmt::format("{}-{:016x}{}", name, checksum(compiler_identity()), kLinesSuffix);
}

class Writer {
 public:
  void number(uint64_t n) { out_.append(reinterpret_cast<const char*>(&n), sizeof n); }
  void text(std::string_view t) {
    number(t.size());
    out_ += t;
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

struct Damaged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  uint64_t number() {
    uint64_t n;
    std::memcpy(&n, take(sizeof n).data(), sizeof n);
    return n;
  }
  std::string_view text() { return take(number()); }
  std::string_view rest() const { return rest_; }
  std::string_view take(uint64_t n) {
    if (n > rest_.size()) throw Damaged("too short");
    std::string_view out = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return out;
  }

 private:
  std::string_view rest_;
};

struct Contents {
  CodeKey key;
  std::string identity, label;
  codegen::NativeObject object;
};

std::string to_bytes(const Contents& c) {
  Writer w;
  for (uint64_t word : c.key.words)
    w.number(word);
  w.text(c.identity);
  w.text(c.label);
  w.number(c.object.calls.size());
  for (const auto& calls : c.object.calls) {
    w.number(calls.size());
    for (const auto& call : calls) {
      w.text(call.routine);
      w.number(call.num_arguments);
      w.text({reinterpret_cast<const char*>(call.buffers.data()), call.buffers.size() * sizeof(int32_t)});
    }
  }
  w.text(c.object.elf);
  std::string body = w.take();
  Writer head;
  head.number(checksum(body));
  return std::string(kMagic) + head.take() + body;
}

Contents from_bytes(std::string_view bytes) {
  Reader r(bytes);
  if (r.take(kMagic.size()) != kMagic) throw Damaged("not a file of compiled code");
  if (r.number() != checksum(r.rest())) throw Damaged("the checksum differs");
  Contents c;
  for (uint64_t& word : c.key.words)
    word = r.number();
  c.identity = r.text();
  c.label = r.text();
  uint64_t kernels = r.number();
  for (uint64_t k = 0; k < kernels; ++k) {
    std::vector<codegen::NativeObject::Call> calls;
    uint64_t n = r.number();
    for (uint64_t i = 0; i < n; ++i) {
      codegen::NativeObject::Call call;
      call.routine = r.text();
      call.num_arguments = r.number();
      std::string_view buffers = r.text();
      call.buffers.resize(buffers.size() / sizeof(int32_t));
      if (!call.buffers.empty())
        std::memcpy(call.buffers.data(), buffers.data(), call.buffers.size() * sizeof(int32_t));
      calls.push_back(std::move(call));
    }
    c.object.calls.push_back(std::move(calls));
  }
  c.object.elf = r.text();
  return c;
}

std::optional<std::string> read_all(int fd) {
  struct stat st;
  if (fstat(fd, &st) != 0) return std::nullopt;
  std::string out(static_cast<size_t>(st.st_size), '\0');
  for (size_t at = 0; at < out.size();) {
    ssize_t n = read(fd, out.data() + at, out.size() - at);
    if (n <= 0) return std::nullopt;
    at += static_cast<size_t>(n);
  }
  return out;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

struct File {
  fs::path path;
  uint64_t bytes;
  timespec last_use;
};

// Code files, most recently used first; removes what a killed writer left behind.
std::vector<File> files_of(const fs::path& path) {
  std::vector<File> out;
  std::error_code ec;
  for (const auto& e : fs::directory_iterator(path, ec)) {
    struct stat st;
    if (lstat(e.path().c_str(), &st) != 0 || !S_ISREG(st.st_mode)) continue;
    std::string name = e.path().filename();
    if (name.ends_with(kSuffix))
      out.push_back({e.path(), static_cast<uint64_t>(st.st_size), st.st_mtim});
    else if (name.starts_with(".writing-") && st.st_mtime + kUseGrain < std::time(nullptr))
      unlink(e.path().c_str());
  }
  auto order = [](const File& f) { return std::tuple(-f.last_use.tv_sec, -f.last_use.tv_nsec, f.path.native()); };
  std::sort(out.begin(), out.end(), [&](const File& a, const File& b) { return order(a) < order(b); });
  return out;
}

// Frees some space in advance: otherwise every write to a full folder would look at all files. Keeps the file just
// written, because others may have the same clock tick.
void make_room(const fs::path& path, uint64_t limit, uint64_t& known, const std::string& written,
               uint64_t written_bytes) {
  known = written_bytes;
  for (const File& f : files_of(path)) {
    if (f.path.filename() == written) continue;
    if (known + f.bytes > limit - limit / 8)
      unlink(f.path.c_str());
    else
      known += f.bytes;
  }
}

bool holds_this_code(const dl_phdr_info& info) {
  auto here = reinterpret_cast<ElfW(Addr)>(&holds_this_code);
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr) & p = info.dlpi_phdr[i];
    if (p.p_type == PT_LOAD && here - (info.dlpi_addr + p.p_vaddr) < p.p_memsz) return true;
  }
  return false;
}

// The build-id note of the program, or of the library that this is part of: a hash of its contents by the linker.
std::string build_id() {
  std::string out;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        if (!holds_this_code(*info)) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr) & p = info->dlpi_phdr[i];
          if (p.p_type != PT_NOTE) continue;
          const char* at = reinterpret_cast<const char*>(info->dlpi_addr + p.p_vaddr);
          const char* end = at + p.p_memsz;
          while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const char* name = at + sizeof note;
            const char* desc = name + (note.n_namesz + 3) / 4 * 4;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
              for (uint32_t k = 0; k < note.n_descsz; ++k)
                *static_cast<std::string*>(data) += fmt::format("{:02x}", static_cast<uint8_t>(desc[k]));
            at = desc + (note.n_descsz + 3) / 4 * 4;
          }
        }
        return 1;
      },
      &out);
  return out;
}

}  // namespace

void set_code_folder(const fs::path& path) {
  MutexLock lock(mu);
  folder = compiler_identity().empty() ? fs::path() : path;
  counted = false;
}

fs::path code_folder() {
  MutexLock lock(mu);
  return folder;
}

fs::path default_code_folder() {
  if (const char* base = std::getenv("XDG_CACHE_HOME"); base && *base == '/') return fs::path(base) / "sheaf";
  if (const char* home = std::getenv("HOME"); home && *home == '/') return fs::path(home) / ".cache" / "sheaf";
  return {};
}

void set_code_folder_limit(uint64_t bytes) {
  MutexLock lock(mu);
  limit_bytes = bytes;
  counted = false;
}

const std::string& compiler_identity() {
  // Without the note two different programs cannot be told apart, so nothing is stored.
  static const auto* text = new std::string([] {
    std::string id = build_id();
    return id.empty() ? id : "build " + id + ", " + codegen::native_target();
  }());
  return *text;
}

std::optional<codegen::NativeObject> load_code(const CodeKey& key) {
  fs::path path = code_folder();
  Fd dir(open_folder(path, false));
  if (!dir) return std::nullopt;
  std::string name = key.hex() + std::string(kSuffix);
  Fd file(openat(dir.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return std::nullopt;
  try {
    if (!is_private(file.get(), S_IFREG)) throw Damaged("not ours");
    auto bytes = read_all(file.get());
    if (!bytes) throw Damaged("unreadable");
    Contents c = from_bytes(*bytes);
    if (c.key != key || c.identity != compiler_identity()) throw Damaged("made from something else");
    struct stat st;
    if (fstat(file.get(), &st) == 0 && st.st_mtime + kUseGrain < std::time(nullptr)) futimens(file.get(), nullptr);
    return std::move(c.object);
  } catch (const Damaged&) {
    unlinkat(dir.get(), name.c_str(), 0);
    return std::nullopt;
  }
}

void store_code(const CodeKey& key, const codegen::NativeObject& object, const std::string& label) {
  fs::path path = code_folder();
  Fd dir(open_folder(path, true));
  if (!dir) return;
  std::string bytes = to_bytes({key, compiler_identity(), label, object});
  static std::atomic<uint64_t> serial{0};
  std::string temporary = fmt::format(".writing-{}-{}-{}", getpid(), serial++, key.hex());
  {
    Fd file(openat(dir.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return;
    if (!write_all(file.get(), bytes)) {
      unlinkat(dir.get(), temporary.c_str(), 0);
      return;
    }
  }
  std::string name = key.hex() + std::string(kSuffix);
  if (renameat(dir.get(), temporary.c_str(), dir.get(), name.c_str()) != 0) {
    unlinkat(dir.get(), temporary.c_str(), 0);
    return;
  }
  MutexLock lock(mu);
  known_bytes += bytes.size();
  if (!counted || known_bytes > limit_bytes) make_room(path, limit_bytes, known_bytes, name, bytes.size());
  counted = true;
}

std::string stored_lines(std::string_view name) {
  Fd dir(open_folder(code_folder(), false));
  if (!dir) return {};
  Fd file(openat(dir.get(), lines_file(name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file || !is_private(file.get(), S_IFREG)) return {};
  return read_all(file.get()).value_or("");
}

void store_line(std::string_view name, const std::string& line) {
  Fd dir(open_folder(code_folder(), true));
  if (!dir) return;
  Fd file(openat(dir.get(), lines_file(name).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file && is_private(file.get(), S_IFREG)) write_all(file.get(), line + "\n");
}

std::vector<StoredCode> stored_code() {
  fs::path path = code_folder();
  Fd dir(open_folder(path, false));
  std::vector<StoredCode> out;
  if (!dir) return out;
  for (const File& f : files_of(path)) {
    StoredCode s;
    s.file = f.path.filename();
    s.bytes = f.bytes;
    s.last_use = f.last_use.tv_sec;
    Fd file(openat(dir.get(), s.file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    auto bytes = file ? read_all(file.get()) : std::nullopt;
    try {
      if (!bytes) throw Damaged("unreadable");
      Contents c = from_bytes(*bytes);
      s.label = c.label;
      s.identity = c.identity;
      if (c.key.hex() + std::string(kSuffix) != s.file)
        s.problem = "it has the name of another file";
      else if (!is_private(file.get(), S_IFREG))
        s.problem = "others may write to it";
      else if (c.identity != compiler_identity())
        s.problem = "made by another build, LLVM or processor";
    } catch (const Damaged& e) {
      s.problem = std::string("damaged: ") + e.what();
    }
    out.push_back(std::move(s));
  }
  return out;
}

size_t clear_stored_code() {
  fs::path path = code_folder();
  Fd dir(open_folder(path, false));
  if (!dir) return 0;
  size_t n = 0;
  for (const File& f : files_of(path))
    n += unlink(f.path.c_str()) == 0;
  std::error_code ec;
  for (const auto& e : fs::directory_iterator(path, ec))
    if (e.path().extension() == kLinesSuffix) unlink(e.path().c_str());
  MutexLock lock(mu);
  counted = false;
  return n;
}

}  // namespace sheaf::compiler
