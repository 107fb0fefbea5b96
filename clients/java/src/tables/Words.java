import java.util.ArrayList;
import java.util.List;

/** Splits a command line as a shell would: blanks, single and double quotes; no escapes. */
final class Words {
  private Words() {
  }

  static List<String> of(String line) {
    List<String> words = new ArrayList<>();
    StringBuilder word = null;
    char quote = 0;
    for (char c : line.toCharArray()) {
      if (quote != 0) {
        if (c == quote) {
          quote = 0;
        } else {
          word.append(c);
        }
      } else if (c == ' ') {
        if (word != null) {
          words.add(word.toString());
          word = null;
        }
      } else {
        word = word == null ? new StringBuilder() : word;
        if (c == '\'' || c == '"') {
          quote = c;
        } else {
          word.append(c);
        }
      }
    }
    if (quote != 0) {
      throw new IllegalArgumentException("open quote: " + line);
    }
    if (word != null) {
      words.add(word.toString());
    }
    return words;
  }
}
