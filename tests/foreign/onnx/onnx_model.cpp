// Nodes, attributes and graphs of onnx.h.
#include "tests/foreign/onnx/onnx.h"
#include "tests/support/wire.h"

namespace plimsoll::onnx {
namespace {

using wire::Reader;
using Type = wire::Type;

double float_of(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

std::pair<std::string, Attribute> read_attribute(std::string_view bytes) {
  std::string name;
  Attribute a;
  std::vector<uint64_t> reals, integers;
  for (Reader r(bytes); const auto field = r.next();) switch (field->number) {
      case 1:
        name = field->bytes;
        break;
      case 2:
        a.real = float_of(field->integer);
        break;
      case 3:
        a.integer = static_cast<int64_t>(field->integer);
        break;
      case 4:
        a.text = field->bytes;
        break;
      case 5:
        a.tensor = read_tensor(field->bytes);
        break;
      case 7:
        append(reals, *field, Type::fixed32);
        break;
      case 8:
        append(integers, *field, Type::varint);
        break;
      case 13:  // documentation
      case 20:  // which of the fields is meant: the one that is there
      case 21:  // the name in an enclosing function
        break;
      default:
        a.readable = false;
    }
  check<DataError>(!name.empty(), "onnx: an attribute has no name. The file is damaged.");
  for (const uint64_t v : reals) a.reals.push_back(float_of(v));
  a.integers.assign(integers.begin(), integers.end());
  return {name, a};
}

Node read_node(std::string_view bytes) {
  Node node;
  for (Reader r(bytes); const auto field = r.next();) switch (field->number) {
      case 1:
        node.inputs.emplace_back(field->bytes);
        break;
      case 2:
        node.outputs.emplace_back(field->bytes);
        break;
      case 4:
        node.op = field->bytes;
        break;
      case 5:
        node.attributes.insert(read_attribute(field->bytes));
        break;
      case 7:
        node.domain = field->bytes;
        break;
    }
  check<DataError>(!node.op.empty(), "onnx: a node has no op. The file is damaged.");
  return node;
}

struct Named {
  std::string name;
  bool is_tensor = false;
};
// ValueInfoProto: 1 name, 2 type, of which field 1 is there for tensors.
Named read_value_info(std::string_view bytes) {
  Named named;
  for (Reader r(bytes); const auto field = r.next();) {
    if (field->number == 1) named.name = field->bytes;
    if (field->number == 2)
      for (Reader type(field->bytes); const auto kind = type.next();)
        named.is_tensor |= kind->number == 1;
  }
  return named;
}

std::string tensor_name(std::string_view bytes) {
  for (Reader r(bytes); const auto field = r.next();)
    if (field->number == 8) return std::string(field->bytes);
  fail<DataError>("onnx: a constant has no name. The file is damaged.");
}

void read_graph(std::string_view bytes, Graph& graph) {
  const auto add = [&](std::vector<std::string>& names, std::string_view info) {
    const Named named = read_value_info(info);
    names.push_back(named.name);
    if (!named.is_tensor) graph.other_type = named.name;
  };
  for (Reader r(bytes); const auto field = r.next();) switch (field->number) {
      case 1:
        graph.nodes.push_back(read_node(field->bytes));
        break;
      case 5:
        graph.constants[tensor_name(field->bytes)] = read_tensor(field->bytes);
        break;
      case 11:
        add(graph.inputs, field->bytes);
        break;
      case 12:
        add(graph.outputs, field->bytes);
        break;
    }
}

}  // namespace

const Attribute* Node::find(const std::string& name) const {
  read_.insert(name);
  const auto found = attributes.find(name);
  if (found == attributes.end()) return nullptr;
  check<Unsupported>(found->second.readable, "attribute ", name, " is of a kind that is not read");
  return &found->second;
}

double Node::real(const std::string& name, double otherwise) const {
  const Attribute* a = find(name);
  return a ? a->real : otherwise;
}
int64_t Node::integer(const std::string& name, int64_t otherwise) const {
  const Attribute* a = find(name);
  return a ? a->integer : otherwise;
}
bool Node::flag(const std::string& name, bool otherwise) const {
  return integer(name, otherwise) != 0;
}
std::string Node::text(const std::string& name, const std::string& otherwise) const {
  const Attribute* a = find(name);
  return a ? a->text : otherwise;
}
std::vector<double> Node::reals(const std::string& name) const {
  const Attribute* a = find(name);
  return a ? a->reals : std::vector<double>();
}
std::vector<int64_t> Node::integers(const std::string& name, std::vector<int64_t> otherwise) const {
  const Attribute* a = find(name);
  return a ? a->integers : otherwise;
}
Tensor Node::tensor(const std::string& name) const {
  const Attribute* a = find(name);
  return a ? a->tensor : Tensor();
}

std::vector<std::string> Node::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, attribute] : attributes)
    if (!read_.contains(name)) names.push_back(name);
  return names;
}

Graph read_model(std::string_view bytes) {
  Graph graph;
  for (Reader r(bytes); const auto field = r.next();) {
    if (field->number == 7) read_graph(field->bytes, graph);
    if (field->number == 8) {
      std::string domain;
      int64_t version = 0;
      for (Reader opset(field->bytes); const auto part = opset.next();) {
        if (part->number == 1) domain = part->bytes;
        if (part->number == 2) version = static_cast<int64_t>(part->integer);
      }
      graph.opsets[domain == "ai.onnx" ? "" : domain] = version;
    }
  }
  check<DataError>(!graph.nodes.empty(), "onnx: a model has no node. The file is damaged.");
  check<DataError>(!graph.opsets.empty(), "onnx: a model has no opset. The file is damaged.");
  return graph;
}

}  // namespace plimsoll::onnx
