#include "formats/signatures.h"

#include <algorithm>

namespace sheaf::formats {
namespace {

using std::literals::operator""sv;

// Advice shared by the formats of one kind.
constexpr auto kPicture = "convert it to PNG; in Python: PIL.Image.open(path).save(\"a.png\")"sv;
constexpr auto kSound = "convert it to WAV: ffmpeg -i FILE a.wav"sv;
constexpr auto kFilm = "take its pictures or its sound out of it: ffmpeg -i FILE %04d.png, ffmpeg -i FILE a.wav"sv;
constexpr auto kUnpack = "unpack it and load the files in it"sv;
constexpr auto kMatlab = "in Python: numpy.savez(\"a.npz\", **scipy.io.loadmat(path))"sv;
constexpr auto kSpreadsheet = "save it as CSV; in Python: pandas.read_excel(path).to_csv(\"a.csv\", index=False)"sv;
constexpr auto kOnnx =
    "its weights in Python: numpy.savez(\"weights.npz\", **{t.name: onnx.numpy_helper.to_array(t) for t in "
    "onnx.load(path).graph.initializer})"sv;
constexpr auto kSavedModel =
    "its weights in Python: numpy.savez(\"weights.npz\", **{v.name: v.numpy() for v in "
    "tf.saved_model.load(folder).variables})"sv;
constexpr auto kKeras =
    "its weights in Python: numpy.savez(\"weights.npz\", *keras.models.load_model(path).get_weights())"sv;
constexpr auto kRecords = "in Python: read it with tensorflow.data.TFRecordDataset and save arrays by numpy.savez"sv;
constexpr auto kPlainWeights = "load the model's .safetensors files, or a PyTorch checkpoint of its state_dict()"sv;
constexpr auto kOldPickle = "in Python: pickle.dump(pickle.load(open(old, \"rb\")), open(new, \"wb\"))"sv;

struct Signature {
  Foreign file;
  std::string_view bytes = {};  // found `at`; empty: recognised by name only
  int64_t at = 0;               // negative: from the end
  std::string_view name = {};   // suffix of the name: of the file, or of an entry of the archive
};

// The first bytes of text files of other programs.
constexpr Signature kTexts[] = {
    {{"the pointer that Git LFS leaves in place of a file", "fetch the file itself: git lfs pull"},
     "version https://git-lfs.github.com/spec/"},
    {{"a page of HTML", "it was probably downloaded in place of the file; look at it in a browser"}, "<!DOCTYPE html"},
    {{"a page of HTML", "it was probably downloaded in place of the file; look at it in a browser"}, "<!doctype html"},
    {{"a page of HTML", "it was probably downloaded in place of the file; look at it in a browser"}, "<html"},
    {{"XML", "(io \"read\" path) gives its text"}, "<?xml"},
    {{"a PDF document", "take the text out of it: pdftotext FILE a.txt"}, "%PDF-"},
    {{"a pickle of protocol 0", kOldPickle}, "(dp"},
    {{"a pickle of protocol 0", kOldPickle}, "(lp"},
    {{"a pickle of protocol 0", kOldPickle}, "cnumpy.core"},
    {{"a pickle of protocol 0", kOldPickle}, "ccopy_reg\n"},
    {{"a pickle of protocol 0", kOldPickle}, "ccollections\n"},
};

// Formats with bytes that cannot occur in text.
constexpr Signature kBinaries[] = {
    {{"a GGUF model", kPlainWeights}, "GGUF"},
    {{"a GGML model", kPlainWeights}, "lmgg"},
    {{"a GGML model", kPlainWeights}, "tjgg"},
    {{"a TensorFlow Lite model", kPlainWeights}, "TFL3", 4},
    {{"an HDF5 file (Keras .h5, MATLAB 7.3)",
      "in Python: open it with h5py.File(path) and save its arrays by numpy.savez"},
     "\x89HDF\r\n\x1a\n"},
    {{"a MATLAB 7.3 file", "in Python: open it with h5py.File(path) and save its arrays by numpy.savez"},
     "\x89HDF\r\n\x1a\n",
     512},
    {{"a MATLAB file", kMatlab}, "MATLAB 5.0 MAT-file"},
    {{"an index of a TensorFlow checkpoint",
      "in Python: numpy.savez(\"weights.npz\", **{n: tf.train.load_variable(path, n) for n, _ in "
      "tf.train.list_variables(path)})"},
     "\x57\xfb\x80\x8b\x24\x75\x47\xdb",
     -8},
    {{"an Arrow (Feather) table", "in Python: pandas.read_feather(path).to_csv(\"a.csv\", index=False)"}, "ARROW1"},
    {{"a Feather table", "in Python: pandas.read_feather(path).to_csv(\"a.csv\", index=False)"}, "FEA1"},
    {{"an ORC table", "in Python: pandas.read_orc(path).to_csv(\"a.csv\", index=False)"}, "ORC"},
    {{"an Avro file", "convert it to JSON lines: avro-tools tojson FILE"}, "Obj\x01"},
    {{"an SQLite database", "write a table of it as CSV: sqlite3 -header -csv FILE 'select * from t'"},
     "SQLite format 3\0"sv},
    {{"a NetCDF file", "in Python: open it with xarray and save its arrays by numpy.savez"}, "CDF\x01"},
    {{"a NetCDF file", "in Python: open it with xarray and save its arrays by numpy.savez"}, "CDF\x02"},
    {{"an Excel workbook", kSpreadsheet}, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"},
    {{"a GIF picture", kPicture}, "GIF8"},
    {{"a TIFF picture", kPicture}, "II*\0"sv},
    {{"a TIFF picture", kPicture}, "MM\0*"sv},
    {{"a WebP picture", kPicture}, "WEBP", 8},
    {{"a BMP picture", kPicture}, "BM"},
    {{"an AVIF or HEIC picture", kPicture}, "ftypavif", 4},
    {{"an AVIF or HEIC picture", kPicture}, "ftyphei", 4},
    {{"an MPEG-4 file", kFilm}, "ftyp", 4},
    {{"a Matroska or WebM film", kFilm}, "\x1a\x45\xdf\xa3"},
    {{"an AVI film", kFilm}, "AVI ", 8},
    {{"MP3 sound", kSound}, "ID3"},
    {{"MP3 sound", kSound}, "\xff\xfb"},
    {{"MP3 sound", kSound}, "\xff\xf3"},
    {{"FLAC sound", kSound}, "fLaC"},
    {{"Ogg sound", kSound}, "OggS"},
    {{"AIFF sound", kSound}, "AIFF", 8},
    {{"a file compressed by gzip", "unpack it first: gunzip FILE"}, "\x1f\x8b"},
    {{"a file compressed by zstd", "unpack it first: zstd -d FILE"}, "\x28\xb5\x2f\xfd"},
    {{"a file compressed by xz", "unpack it first: xz -d FILE"}, "\xfd\x37zXZ\0"sv},
    {{"a file compressed by bzip2", "unpack it first: bunzip2 FILE"}, "BZh"},
    {{"a file compressed by lz4", "unpack it first: lz4 -d FILE"}, "\x04\x22\x4d\x18"},
    {{"a 7z archive", kUnpack}, "7z\xbc\xaf\x27\x1c"},
    {{"a RAR archive", kUnpack}, "Rar!\x1a\x07"},
    {{"a tar archive", "unpack it (tar xf FILE) and load the files in it"}, "ustar", 257},
    {{"a program (ELF)", "it holds machine code, not data"},
     "\x7f"
     "ELF"},
    {{"UTF-16 text", "convert it to UTF-8: iconv -f utf-16 -t utf-8 FILE"}, "\xff\xfe"},
    {{"UTF-16 text", "convert it to UTF-8: iconv -f utf-16 -t utf-8 FILE"}, "\xfe\xff"},
    // Protocol buffers start with a field, not a magic number: see also is_onnx and is_saved_model.
    {.file = {"an ONNX model", kOnnx}, .name = ".onnx"},
    {.file = {"a TensorFlow graph", kSavedModel}, .name = ".pb"},
    {.file = {"a Core ML model", kPlainWeights}, .name = ".mlmodel"},
    {.file = {"a SentencePiece model",
              "a tokenizer.json is read by (tokenizer path); in Python: "
              "transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(out) writes one"},
     .name = ".model"},
    {.file = {"a TFRecord file", kRecords}, .name = ".tfrecord"},
    {.file = {"a TFRecord file", kRecords}, .name = ".tfrecords"},
    {.file = {"a MessagePack file (Flax)",
              "in Python: save the flattened tree by safetensors.numpy.save_file(flat, \"weights.safetensors\")"},
     .name = ".msgpack"},
};

// Names of entries that identify archives, specific ones first.
constexpr Signature kArchives[] = {
    {.file = {"a TorchScript archive (torch.jit.save)",
              "its weights in Python: torch.save(torch.jit.load(path).state_dict(), \"weights.pt\")"},
     .name = "/constants.pkl"},
    {.file = {"a program of torch.export",
              "its weights in Python: torch.save(torch.export.load(path).state_dict, \"weights.pt\")"},
     .name = "/archive_format"},
    {.file = {"a program of torch.export",
              "its weights in Python: torch.save(torch.export.load(path).state_dict, \"weights.pt\")"},
     .name = "serialized_exported_program.json"},
    {.file = {"a Keras model", kKeras}, .name = "model.weights.h5"},
    {.file = {"an Excel workbook", kSpreadsheet}, .name = "xl/workbook.xml"},
    {.file = {"an office document", "take the text or the table out of it, as text or CSV"},
     .name = "[Content_Types].xml"},
};

constexpr Signature kDirectories[] = {
    {.file = {"a TensorFlow SavedModel", kSavedModel}, .name = "saved_model.pb"},
    {.file = {"a model of Hugging Face in parts",
              "load the index: (io \"load\" \"FOLDER/model.safetensors.index.json\")"},
     .name = "model.safetensors.index.json"},
    {.file = {"a model of Hugging Face", "load its weights: (io \"load\" \"FOLDER/model.safetensors\")"},
     .name = "model.safetensors"},
    {.file = {"a model of Hugging Face", "load its weights: (io \"load\" \"FOLDER/pytorch_model.bin\")"},
     .name = "pytorch_model.bin"},
};

bool holds(std::string_view bytes, const Signature& s) {
  auto size = static_cast<int64_t>(bytes.size());
  int64_t at = s.at < 0 ? size + s.at : s.at;
  return !s.bytes.empty() && at >= 0 && at <= size && bytes.substr(static_cast<size_t>(at)).starts_with(s.bytes);
}

unsigned byte_at(std::string_view bytes, size_t i) {
  return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0;
}

// ModelProto: ir_version, then usually producer_name, else a field that only a model has.
bool is_onnx(std::string_view bytes) {
  if (byte_at(bytes, 0) != 0x08 || byte_at(bytes, 1) == 0 || byte_at(bytes, 1) > 0x20) return false;
  unsigned field = byte_at(bytes, 2);
  bool named = field == 0x12 && byte_at(bytes, 3) < 0x40 && byte_at(bytes, 4) >= 0x20;
  return named || field == 0x3a || field == 0x42;
}

// SavedModel: schema version 1, then a MetaGraphDef, whose first field is a message too.
bool is_saved_model(std::string_view bytes) {
  if (!bytes.starts_with("\x08\x01\x12")) return false;
  size_t at = 3;
  while (byte_at(bytes, at) & 0x80)
    ++at;
  return byte_at(bytes, at + 1) == 0x0a;
}

}  // namespace

bool is_binary(std::string_view bytes) {
  return std::any_of(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(std::min<size_t>(bytes.size(), 512)),
                     [](unsigned char c) { return c < '\t' || c == 0xfe || c == 0xff; });
}

const Foreign* recognise(std::string_view bytes, const std::string& path) {
  static constexpr Foreign kOnnxModel{"an ONNX model", kOnnx}, kTensorFlow{"a TensorFlow SavedModel", kSavedModel};
  for (const Signature& s : kTexts)
    if (holds(bytes, s)) return &s.file;
  if (!is_binary(bytes)) return nullptr;
  if (is_saved_model(bytes)) return &kTensorFlow;
  if (is_onnx(bytes)) return &kOnnxModel;
  for (const Signature& s : kBinaries)
    if (holds(bytes, s) || (!s.name.empty() && path.ends_with(s.name))) return &s.file;
  return nullptr;
}

const Foreign* recognise_archive(const std::vector<ZipEntry>& entries) {
  for (const Signature& s : kArchives)
    for (const ZipEntry& e : entries)
      if (e.name.ends_with(s.name)) return &s.file;
  return nullptr;
}

const Foreign* recognise_directory(const std::vector<std::string>& names) {
  for (const Signature& s : kDirectories)
    if (std::find(names.begin(), names.end(), s.name) != names.end()) return &s.file;
  return nullptr;
}

}  // namespace sheaf::formats
