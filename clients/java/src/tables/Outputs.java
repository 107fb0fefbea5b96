import java.nio.file.Files;
import java.nio.file.Path;

/**
 * {@code Outputs FOLDER COMMAND...} runs commands of the published tools, each given as one word and without the
 * {@code ozone} of a shell, and keeps what the first prints in the file 0 of the folder, the second in 1. None may fail.
 */
public final class Outputs {
  private Outputs() {
  }

  public static int run(String[] args) throws Exception {
    Path folder = Files.createDirectories(Path.of(args[0]));
    for (int i = 1; i < args.length; i++) {
      String command = args[i];
      Captured captured = Captured.of(() -> Tool.run(Words.of(command).toArray(new String[0])));
      Files.writeString(folder.resolve(String.valueOf(i - 1)), captured.out());
      if (captured.status() != 0) {
        System.out.printf("%s ended with %d:%n%s%s%n", command, captured.status(), captured.out(), captured.err());
        return 1;
      }
    }
    return 0;
  }
}
