import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A text file of commands with their outcomes. Lines of a command: {@code $ words}, then its standard output behind two
 * spaces, its standard error behind {@code !}, its exit status behind {@code =} unless it is 0. Others are comments.
 */
record Table(List<Entry> entries, List<String> tail) {
  static Table read(Path file) throws IOException {
    List<Entry> entries = new ArrayList<>();
    List<String> before = new ArrayList<>();
    for (String line : Files.readAllLines(file)) {
      if (line.startsWith("$")) {
        entries.add(command(before, line));
        before = new ArrayList<>();
      } else if (line.startsWith("  ") || line.startsWith("! ") || line.startsWith("= ")) {
        if (entries.isEmpty() || !before.isEmpty()) {
          throw new IOException(file + ": an outcome without its command: " + line);
        }
        Entry last = entries.remove(entries.size() - 1);
        entries.add(last.with(more(last.outcome(), line)));
      } else {
        before.add(line);
      }
    }
    return new Table(entries, before);
  }

  private static Entry command(List<String> before, String line) throws IOException {
    int space = line.indexOf(' ');
    for (Entry.How how : Entry.How.values()) {
      if (space > 0 && how.mark.equals(line.substring(0, space))) {
        return new Entry(before, how, line.substring(space + 1), Outcome.SILENT);
      }
    }
    throw new IOException("unknown mark: " + line);
  }

  private static Outcome more(Outcome sofar, String line) {
    List<String> out = new ArrayList<>(sofar.out());
    List<String> err = new ArrayList<>(sofar.err());
    int status = sofar.status();
    String rest = line.substring(2);
    switch (line.charAt(0)) {
      case '!' -> err.add(rest);
      case '=' -> status = Integer.parseInt(rest.trim());
      default -> out.add(rest);
    }
    return new Outcome(out, err, status);
  }

  void write(Path file) throws IOException {
    List<String> lines = new ArrayList<>();
    for (Entry entry : entries) {
      lines.addAll(entry.before());
      lines.add(entry.how().mark + " " + entry.line());
      lines.addAll(entry.outcome().lines());
    }
    lines.addAll(tail);
    Files.write(file, lines);
  }
}
