import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Commands of a table beside the tools: local files, and values taken from what was printed. */
final class Local {
  private final Path folder;
  private final Variables variables;
  private String printed = "";

  Local(Path folder, Variables variables) {
    this.folder = folder;
    this.variables = variables;
  }

  /** What the last tool printed, for {@code take}. */
  void printed(String text) {
    printed = text;
  }

  int run(List<String> words) throws IOException {
    switch (words.get(0)) {
      case "make":
        make(folder.resolve(words.get(1)), Integer.parseInt(words.get(2)));
        return 0;
      case "same":
        boolean same = Files.mismatch(folder.resolve(words.get(1)), folder.resolve(words.get(2))) < 0;
        System.out.println(same ? "identical" : "different");
        return same ? 0 : 1;
      case "folder":
        Files.createDirectories(folder.resolve(words.get(1)));
        return 0;
      case "take":
        Matcher found = Pattern.compile(words.get(2), Pattern.MULTILINE).matcher(printed);
        if (!found.find()) {
          System.err.println("not printed: " + words.get(2));
          return 1;
        }
        variables.set(words.get(1), found.group(1));
        return 0;
      default:
        throw new IOException("no local command " + words.get(0));
    }
  }

  /** Bytes that no compression shortens, the same in each run. */
  private static void make(Path file, int length) throws IOException {
    byte[] bytes = new byte[length];
    new Random(length).nextBytes(bytes);
    Files.write(file, bytes);
  }
}
