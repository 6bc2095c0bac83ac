#include "formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "formats/read_ahead.h"
#include "support/error.h"
#include "support/mutex.h"

namespace sheaf::formats {

namespace {

constexpr size_t kAheadFrom = 4 << 20;  // bytes; less is read before a thread has started

}  // namespace

Ref<Buffer> map_file(const std::string& path, std::string_view verb, Use use) {
  auto fail = [&](int error) { throw runtime_error(std::string(verb) + " '" + path + "': " + std::strerror(error)); };
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(errno);
  struct stat info{};
  int error = ::fstat(fd, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
  size_t size = error ? 0 : static_cast<size_t>(info.st_size);
  void* p = size > 0 ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  if (p == MAP_FAILED) error = errno;
  ::close(fd);
  if (error) fail(error);
  auto* data = static_cast<std::byte*>(p);
  if (use == Use::InPlaces || size < kAheadFrom)
    return make_ref<Buffer>(
        data, size,
        [p, size] {
          if (p) ::munmap(p, size);
        },
        Buffer::Origin::File);
  auto file = std::make_shared<Mapping>(data, size);
  read_ahead(file);
  return make_ref<Buffer>(
      data, size,
      [file] {
        MutexLock lock(file->mu);
        file->gone = true;
        ::munmap(file->data, file->bytes);
      },
      Buffer::Origin::File);
}

}  // namespace sheaf::formats
