import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.hadoop.hdds.conf.OzoneConfiguration;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Runs tables of commands against the cluster that the class path's ozone-site.xml names.
 *
 * <p>{@code check FOLDER TABLE...} compares outcomes and ends with 1 where they differ; {@code record FOLDER TABLE...}
 * writes what it saw into the tables. FOLDER is where the commands' local files are; it is emptied for each table.
 */
public final class Tables {
  /** What takes longer is worth a line: clients hide an error that they retry. */
  private static final long SLOW_MS = 5000;

  private final Path folder;
  private int commands;

  private Tables(Path folder) {
    this.folder = folder;
  }

  public static int run(String[] args) throws Exception {
    boolean record = args[0].equals("record");
    Tables tables = new Tables(Path.of(args[1]));
    int differing = 0;
    long start = System.nanoTime();
    for (int i = 2; i < args.length; i++) {
      Path file = Path.of(args[i]);
      if (record) {
        tables.run(Table.read(file), true).write(file);
      } else {
        differing += compare(file, tables);
      }
    }
    long ms = (System.nanoTime() - start) / 1_000_000;
    System.out.printf("%d commands of the published tools in %d ms, %d differ%n", tables.commands, ms, differing);
    return differing == 0 ? 0 : 1;
  }

  private static int compare(Path file, Tables tables) throws Exception {
    Table expected = Table.read(file);
    Table seen = tables.run(expected, false);
    int differing = 0;
    for (int i = 0; i < expected.entries().size(); i++) {
      Entry entry = expected.entries().get(i);
      Outcome want = entry.outcome().under(entry.how());
      Outcome got = seen.entries().get(i).outcome();
      if (!want.allows(got)) {
        differing++;
        System.out.printf("%s: %s%n", file.getFileName(), entry.line());
        Difference.of(want.lines(), got.lines()).forEach(line -> System.out.println("    " + line));
      }
    }
    return differing;
  }

  /** The table with what its commands do now. */
  private Table run(Table table, boolean record) throws Exception {
    try (Stream<Path> old = Files.exists(folder) ? Files.walk(folder) : Stream.empty()) {
      old.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
    }
    Files.createDirectories(folder);
    OzoneConfiguration conf = new OzoneConfiguration();
    Variables variables = new Variables();
    variables.set("tmp", folder.toString());
    variables.set("om", conf.get("ozone.om.address"));
    // Some commands want the name of a service: an OM of one is one, too.
    variables.set("service", "-Dozone.om.service.ids=service -Dozone.om.nodes.service=om1"
        + " -Dozone.om.address.service.om1=" + conf.get("ozone.om.address"));
    String user = UserGroupInformation.getCurrentUser().getShortUserName();
    Normal normal = new Normal(variables, user, InetAddress.getLocalHost().getHostName());
    Local local = new Local(folder, variables);
    List<Entry> entries = new ArrayList<>();
    for (Entry entry : table.entries()) {
      long start = System.nanoTime();
      Captured captured = one(entry, variables, local);
      long ms = (System.nanoTime() - start) / 1_000_000;
      if (ms > SLOW_MS) {
        System.out.printf("%d ms: %s%n", ms, entry.line());
      }
      Outcome outcome = new Outcome(normal.lines(captured.out()), normal.lines(captured.err()), captured.status());
      if (record) {
        System.out.println(entry.how().mark + " " + entry.line());
        outcome.lines().forEach(System.out::println);
      }
      entries.add(entry.with(outcome.under(entry.how())));
    }
    return new Table(entries, table.tail());
  }

  private Captured one(Entry entry, Variables variables, Local local) throws IOException {
    List<String> words = Words.of(variables.expand(entry.line()));
    List<String> rest = words.subList(1, words.size());
    switch (words.get(0)) {
      case "ozone":
        commands++;
        Captured captured = Captured.of(() -> Tool.run(rest.toArray(new String[0])));
        local.printed(captured.out());
        return captured;
      case "local":
        return Captured.of(() -> local.run(rest));
      default:
        throw new IOException("neither ozone nor local: " + entry.line());
    }
  }
}
