import java.util.List;

/**
 * A command of a table and what is expected of it.
 *
 * @param before comment and empty lines above the command, kept as they are
 * @param how how its output is looked at
 * @param line the command as written
 * @param outcome what it is expected to print and return
 */
record Entry(List<String> before, How how, String line, Outcome outcome) {
  /** The word after the {@code $}. */
  enum How {
    /** As printed. */
    PLAIN("$"),
    /** Lines of standard output in order: what lists in no order of its own. */
    SORTED("$sorted"),
    /** The kinds of line that it has, less numbers and how often: what is about the machine it runs on. */
    SHAPE("$shape"),
    /** Only whether it succeeds. */
    STATUS("$status");

    final String mark;

    How(String mark) {
      this.mark = mark;
    }
  }

  Entry with(Outcome outcome) {
    return new Entry(before, how, line, outcome);
  }
}
