import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** What a command printed and returned, as a table shows it. */
record Outcome(List<String> out, List<String> err, int status) {
  static final Outcome SILENT = new Outcome(List.of(), List.of(), 0);

  private static final Pattern NUMBER = Pattern.compile("(?<!\\w)-?\\d+(\\.\\d+)?( ?[KMGTP]?B\\b)?");

  /** What is compared under {@code how}. */
  Outcome under(Entry.How how) {
    switch (how) {
      case SORTED:
        List<String> sorted = new ArrayList<>(out);
        Collections.sort(sorted);
        return new Outcome(sorted, err, status);
      case SHAPE:
        TreeSet<String> shapes = new TreeSet<>();
        out.forEach(line -> shapes.add(shape(line)));
        return new Outcome(List.copyOf(shapes), err, status);
      case STATUS:
        return new Outcome(List.of(), List.of(), status);
      default:
        return this;
    }
  }

  private static String shape(String line) {
    String unnamed = line.replaceAll("\\$\\{\\w+}", "<uuid>").replaceAll(" +", " ").replaceAll(",$", "").trim();
    return NUMBER.matcher(unnamed.replaceAll("/(Leader|Follower)$", "/<role>")).replaceAll("#");
  }

  /** Whether {@code got} is what this expects. An error may say more than the recorded one, which names no names. */
  boolean allows(Outcome got) {
    boolean errors = err.size() == got.err.size();
    for (int i = 0; errors && i < err.size(); i++) {
      errors = got.err.get(i).startsWith(err.get(i));
    }
    return errors && out.equals(got.out) && status == got.status;
  }

  /** The lines of a table. */
  List<String> lines() {
    List<String> lines = new ArrayList<>();
    out.forEach(line -> lines.add("  " + line));
    err.forEach(line -> lines.add("! " + line));
    if (status != 0) {
      lines.add("= " + status);
    }
    return lines;
  }
}
