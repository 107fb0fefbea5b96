import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What {@code ${name}} stands for in a table: where things are, and what earlier commands printed. */
final class Variables {
  /** A value as short as a small number is found where it does not stand for the thing. */
  private static final int SHORT = 8;
  private static final Pattern USE = Pattern.compile("\\$\\{(\\w+)}");

  private final Map<String, String> values = new LinkedHashMap<>();

  void set(String name, String value) {
    values.put(name, value);
  }

  /** Puts values in; a name that has none stays. */
  String expand(String line) {
    StringBuilder expanded = new StringBuilder();
    Matcher use = USE.matcher(line);
    while (use.find()) {
      String value = values.get(use.group(1));
      use.appendReplacement(expanded, Matcher.quoteReplacement(value == null ? use.group() : value));
    }
    return use.appendTail(expanded).toString();
  }

  /** Puts names where values are, so that a table says the same on every cluster. */
  String collapse(String line) {
    for (Map.Entry<String, String> variable : values.entrySet()) {
      if (variable.getValue().length() < SHORT) {
        continue;
      }
      String value = Pattern.quote(variable.getValue());
      String whole = "(?<![\\w-])" + value + "(?![\\w-])";
      line = line.replaceAll(whole, Matcher.quoteReplacement("${" + variable.getKey() + "}"));
    }
    return line;
  }
}
