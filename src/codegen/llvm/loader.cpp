#include "codegen/llvm/loader.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <vector>

namespace sheaf::codegen::native {
namespace {

#if defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#elif defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#else
constexpr uint16_t kMachine = EM_NONE;
#endif

[[noreturn]] void damaged(const std::string& what) { throw std::runtime_error("native code: " + what); }

// The sections of a file and their offsets in memory.
class Layout {
 public:
  explicit Layout(std::string_view file) : file_(file) {
    auto header = read<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB)
      damaged("not an ELF file");
    if (header.e_type != ET_REL || header.e_machine != kMachine || header.e_shentsize != sizeof(Elf64_Shdr))
      damaged("not an object of this machine");
    for (size_t i = 0; i < header.e_shnum; ++i) {
      sections_.push_back(read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
      const Elf64_Shdr& s = sections_.back();
      bool in_file = s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL;
      if (in_file && (s.sh_offset > file_.size() || s.sh_size > file_.size() - s.sh_offset))
        damaged("section outside of the file");
    }
    place();
  }

  size_t bytes() const { return bytes_; }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  bool is_placed(size_t section) const { return section < at_.size() && at_[section] != kNowhere; }
  size_t at(size_t section) const { return at_[section]; }

  void copy(std::byte* memory) const {
    for (size_t i = 0; i < sections_.size(); ++i)
      if (is_placed(i) && sections_[i].sh_type != SHT_NOBITS)
        std::memcpy(memory + at_[i], file_.data() + sections_[i].sh_offset, sections_[i].sh_size);
  }

  template <class T>
  std::vector<T> entries(const Elf64_Shdr& s) const {
    std::vector<T> out;
    for (size_t i = 0; i < s.sh_size / sizeof(T); ++i)
      out.push_back(read<T>(s.sh_offset + i * sizeof(T)));
    return out;
  }
  std::string text(size_t section, size_t offset) const {
    if (section >= sections_.size() || offset >= sections_[section].sh_size) damaged("name outside of its table");
    const Elf64_Shdr& s = sections_[section];
    std::string_view rest = file_.substr(s.sh_offset + offset, s.sh_size - offset);
    return std::string(rest.substr(0, rest.find('\0')));
  }

 private:
  static constexpr size_t kNowhere = ~size_t{0}, kMaxBytes = size_t{1} << 26;  // branches reach 2^27

  template <class T>
  T read(uint64_t offset) const {
    if (offset > file_.size() || file_.size() - offset < sizeof(T)) damaged("file is too short");
    T x;
    std::memcpy(&x, file_.data() + offset, sizeof x);
    return x;
  }

  void place() {
    at_.assign(sections_.size(), kNowhere);
    for (size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& s = sections_[i];
      if (!(s.sh_flags & SHF_ALLOC) || s.sh_size == 0) continue;
      if (s.sh_flags & SHF_WRITE) damaged("writable data");
      uint64_t align = std::max<uint64_t>(s.sh_addralign, 1);
      if (align > 4096 || (align & (align - 1)) || s.sh_size > kMaxBytes) damaged("section too large");
      at_[i] = (bytes_ + align - 1) & ~(align - 1);
      bytes_ = at_[i] + s.sh_size;
      if (bytes_ > kMaxBytes) damaged("code too large");
    }
  }

  std::string_view file_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<size_t> at_;
  size_t bytes_ = 0;
};

bool fits(int64_t x, int bits) { return x >= -(int64_t{1} << (bits - 1)) && x < (int64_t{1} << (bits - 1)); }

// Writes the address `to` (symbol and addend) into the instruction or word at `where`.
void relocate(uint32_t type, std::byte* where, size_t room, uint64_t to) {
  uint64_t from = reinterpret_cast<uint64_t>(where);
  int64_t distance = static_cast<int64_t>(to - from);
  auto need = [&](size_t n) {
    if (room < n) damaged("relocation outside of its section");
  };
  auto put32 = [&](int64_t x) {
    need(4);
    if (!fits(x, 32)) damaged("distance too large");
    int32_t word = static_cast<int32_t>(x);
    std::memcpy(where, &word, 4);
  };
#if defined(__aarch64__)
  // Replaces the bits of `mask` in the instruction.
  auto patch = [&](uint32_t mask, uint32_t bits) {
    need(4);
    uint32_t word;
    std::memcpy(&word, where, 4);
    word = (word & ~mask) | (bits & mask);
    std::memcpy(where, &word, 4);
  };
  auto low12 = [&](int scale) { patch(0xfffu << 10, static_cast<uint32_t>((to & 0xfff) >> scale) << 10); };
  switch (type) {
    case R_AARCH64_ABS64:
      need(8);
      std::memcpy(where, &to, 8);
      return;
    case R_AARCH64_PREL64:
      need(8);
      std::memcpy(where, &distance, 8);
      return;
    case R_AARCH64_PREL32: return put32(distance);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
      if (!fits(distance, 28)) damaged("distance too large");
      return patch(0x3ffffff, static_cast<uint32_t>(distance >> 2));
    case R_AARCH64_ADR_PREL_PG_HI21: {
      int64_t pages = static_cast<int64_t>((to & ~0xfffull) - (from & ~0xfffull)) >> 12;
      if (!fits(pages, 21)) damaged("distance too large");
      return patch(0x60ffffe0, static_cast<uint32_t>((pages & 3) << 29 | ((pages >> 2) & 0x7ffff) << 5));
    }
    case R_AARCH64_ADR_PREL_LO21:
      if (!fits(distance, 21)) damaged("distance too large");
      return patch(0x60ffffe0, static_cast<uint32_t>((distance & 3) << 29 | ((distance >> 2) & 0x7ffff) << 5));
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC: return low12(0);
    case R_AARCH64_LDST16_ABS_LO12_NC: return low12(1);
    case R_AARCH64_LDST32_ABS_LO12_NC: return low12(2);
    case R_AARCH64_LDST64_ABS_LO12_NC: return low12(3);
    case R_AARCH64_LDST128_ABS_LO12_NC: return low12(4);
    default: break;
  }
#elif defined(__x86_64__)
  switch (type) {
    case R_X86_64_64:
      need(8);
      std::memcpy(where, &to, 8);
      return;
    case R_X86_64_PC64:
      need(8);
      std::memcpy(where, &distance, 8);
      return;
    case R_X86_64_PC32:
    case R_X86_64_PLT32: return put32(distance);
    default: break;
  }
#endif
  damaged("relocation of type " + std::to_string(type));
}

}  // namespace

LoadedCode::LoadedCode(std::string_view elf) {
  Layout layout(elf);
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = std::max((layout.bytes() + page - 1) / page * page, page);
  void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) damaged("no memory");
  memory_ = static_cast<std::byte*>(p);
  try {
    layout.copy(memory_);
    const auto& sections = layout.sections();
    for (const Elf64_Shdr& s : sections) {
      if (s.sh_type == SHT_REL) damaged("relocations without addends");
      if (s.sh_type == SHT_SYMTAB)
        for (const auto& symbol : layout.entries<Elf64_Sym>(s))
          if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL &&
              layout.is_placed(symbol.st_shndx)) {
            if (symbol.st_value >= sections[symbol.st_shndx].sh_size) damaged("function outside of its section");
            functions_[layout.text(s.sh_link, symbol.st_name)] = layout.at(symbol.st_shndx) + symbol.st_value;
          }
      if (s.sh_type != SHT_RELA || !layout.is_placed(s.sh_info)) continue;
      if (s.sh_link >= sections.size() || sections[s.sh_link].sh_type != SHT_SYMTAB)
        damaged("relocations without symbols");
      auto symbols = layout.entries<Elf64_Sym>(sections[s.sh_link]);
      for (const auto& r : layout.entries<Elf64_Rela>(s)) {
        size_t number = ELF64_R_SYM(r.r_info), size = sections[s.sh_info].sh_size;
        if (number >= symbols.size() || r.r_offset >= size) damaged("relocation outside of its section");
        const Elf64_Sym& symbol = symbols[number];
        if (!layout.is_placed(symbol.st_shndx))
          damaged("outside symbol " + layout.text(sections[s.sh_link].sh_link, symbol.st_name));
        uint64_t to = reinterpret_cast<uint64_t>(memory_) + layout.at(symbol.st_shndx) + symbol.st_value +
                      static_cast<uint64_t>(r.r_addend);
        relocate(ELF64_R_TYPE(r.r_info), memory_ + layout.at(s.sh_info) + r.r_offset, size - r.r_offset, to);
      }
    }
    if (mprotect(memory_, bytes_, PROT_READ | PROT_EXEC) != 0) damaged("memory cannot be made executable");
  } catch (...) {
    munmap(memory_, bytes_);
    throw;
  }
  __builtin___clear_cache(reinterpret_cast<char*>(memory_), reinterpret_cast<char*>(memory_ + bytes_));
}

LoadedCode::~LoadedCode() { munmap(memory_, bytes_); }

const void* LoadedCode::find(const std::string& name) const {
  auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : memory_ + it->second;
}

}  // namespace sheaf::codegen::native
