#include "formats/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "formats/json.h"
#include "formats/npy.h"
#include "formats/pickle.h"
#include "formats/safetensors.h"
#include "formats/zip.h"
#include "support/error.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void os_failure(std::string_view verb, const std::string& path, int error) {
  throw runtime_error(std::string(verb) + " '" + path + "': " + std::strerror(error));
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(const File&) = delete;
  ~File() { if (fd_ >= 0) ::close(fd_); }
  int fd() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  // False with errno set when the system reports a late write error.
  bool close() {
    int fd = fd_;
    fd_ = -1;
    return ::close(fd) == 0;
  }

 private:
  int fd_;
};

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
  struct stat info {};
  if (::stat(target.c_str(), &info) == 0) return info.st_mode & 07777;
  mode_t mask = ::umask(0);  // there is no way to read the mask but to set it
  ::umask(mask);
  return 0666 & ~mask;
}

bool is_special(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

// Writes a temporary file beside the target and renames it over; errno says what failed.
bool replace_file(const std::string& target, std::string_view bytes) {
  std::string temporary = target + ".XXXXXX";
  mode_t mode = new_file_mode(target);
  File file(::mkstemp(temporary.data()));
  if (!file.ok()) return false;
  if (::fchmod(file.fd(), mode) == 0 && write_all(file.fd(), bytes) && ::fsync(file.fd()) == 0 && file.close() &&
      ::rename(temporary.c_str(), target.c_str()) == 0)
    return true;
  int error = errno;
  ::unlink(temporary.c_str());
  errno = error;
  return false;
}

Value parse_any(const std::string& path, std::string_view bytes) {
  if (path.ends_with(".safetensors")) return parse_safetensors(bytes);
  if (is_npy(bytes)) return parse_npy(bytes);
  if (is_zip(bytes)) return parse_npz(bytes);
  if (bytes.starts_with('\x80')) return parse_pickle(bytes);
  return parse_json(bytes);
}

std::string text_for(const std::string& path, const Value& v) {
  if (path.ends_with(".safetensors")) return write_safetensors(v);
  if (path.ends_with(".npz")) return write_npz(v);
  if (!path.ends_with(".npy")) return write_json(v);
  if (!v.is_tensor()) throw runtime_error("npy: cannot serialize " + std::string(type_name(v)) + " (only a tensor)");
  return write_npy(v.as_tensor());
}

}  // namespace

std::string read_file(const std::string& path, std::string_view verb) {
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) os_failure(verb, path, errno);
  struct stat info {};
  std::string out;
  // Pipes and /proc files have no size beforehand, so the size is only where to begin.
  size_t guess = ::fstat(file.fd(), &info) == 0 && info.st_size > 0 ? static_cast<size_t>(info.st_size) : 0;
  size_t used = 0;
  for (;;) {
    if (used == out.size()) out.resize(used == 0 ? guess + 1 : used * 2 + 4096);
    ssize_t n = ::read(file.fd(), out.data() + used, out.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) os_failure(verb, path, errno);
    if (n == 0) break;
    used += static_cast<size_t>(n);
  }
  out.resize(used);
  return out;
}

void write_file(const std::string& path, std::string_view bytes, std::string_view verb) {
  std::error_code error;
  fs::path parent = fs::path(path).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  if (error) os_failure(verb, path, error.value());
  if (is_special(path)) {  // /dev/stdout, a named pipe: there is nothing to replace
    File file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.ok() || !write_all(file.fd(), bytes) || !file.close()) os_failure(verb, path, errno);
    return;
  }
  // A link stays a link; what it points to is replaced.
  fs::path target = fs::is_symlink(fs::symlink_status(path, error)) ? fs::weakly_canonical(path, error) : fs::path(path);
  if (error && error != std::errc::no_such_file_or_directory) os_failure(verb, path, error.value());
  if (!replace_file(target.string(), bytes)) os_failure(verb, path, errno);
}

Value load_value(const std::string& path) {
  std::string bytes = read_file(path, "io load");
  try {
    return parse_any(path, bytes);
  } catch (UserError& e) {
    e.message = "io load: parse '" + path + "': " + e.message;
    throw;
  }
}

void save_value(const std::string& path, const Value& v) {
  std::string bytes;
  try {
    bytes = text_for(path, v);
  } catch (UserError& e) {
    // Messages of a named format already say who speaks.
    if (!e.message.starts_with("safetensors: ") && !e.message.starts_with("npy: ") && !e.message.starts_with("npz: ") && !e.message.starts_with("zip: ")) e.message = "io save: " + e.message;
    throw;
  }
  write_file(path, bytes, "io save");
}

}  // namespace sheaf::formats
