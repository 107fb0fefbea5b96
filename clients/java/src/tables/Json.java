import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * JSON as a table shows it: members in order of their names, because the tools print them in an order that differs from
 * one JVM to the next, and what fits into a line in one line.
 */
final class Json {
  private static final int WIDTH = 110;
  /** Which ports a DataNode has is a matter of the server. */
  private static final Set<String> PORTS = Set.of("ports", "ratisPort", "standalonePort");
  private static final ObjectMapper MAPPER =
      new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

  private Json() {
  }

  /** The document in {@code text}, or the text itself when it is none. */
  static String tidy(String text) {
    String trimmed = text.trim();
    if (!trimmed.startsWith("{") && !trimmed.startsWith("[")) {
      return text;
    }
    try {
      StringBuilder tidied = new StringBuilder();
      write(MAPPER.readTree(trimmed), "", tidied);
      return tidied.toString();
    } catch (JsonProcessingException e) {
      return text;
    }
  }

  private static void write(JsonNode node, String indent, StringBuilder to) {
    String line = line(node);
    if (!node.isContainerNode() || indent.length() + line.length() <= WIDTH) {
      to.append(line);
      return;
    }
    String deeper = indent + "  ";
    String between = "";
    to.append(node.isObject() ? "{" : "[");
    for (String name : node.isObject() ? names(node) : numbers(node)) {
      to.append(between).append('\n').append(deeper);
      if (node.isObject()) {
        to.append('"').append(name).append("\" : ");
        write(node.get(name), deeper, to);
      } else {
        write(node.get(Integer.parseInt(name)), deeper, to);
      }
      between = ",";
    }
    to.append('\n').append(indent).append(node.isObject() ? "}" : "]");
  }

  private static String line(JsonNode node) {
    List<String> parts = new ArrayList<>();
    if (node.isObject()) {
      names(node).forEach(name -> parts.add("\"" + name + "\" : " + line(node.get(name))));
      return "{" + String.join(", ", parts) + "}";
    }
    if (node.isArray()) {
      node.forEach(element -> parts.add(line(element)));
      return "[" + String.join(", ", parts) + "]";
    }
    return node.toString();
  }

  private static Iterable<String> names(JsonNode object) {
    TreeSet<String> names = new TreeSet<>();
    object.fieldNames().forEachRemaining(names::add);
    names.removeIf(PORTS::contains);
    return names;
  }

  private static Iterable<String> numbers(JsonNode array) {
    List<String> numbers = new ArrayList<>();
    for (int i = 0; i < array.size(); i++) {
      numbers.add(String.valueOf(i));
    }
    return numbers;
  }
}
