import java.util.Arrays;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.ozone.OzoneFsShell;
import org.apache.hadoop.hdds.cli.GenericCli;
import org.apache.hadoop.hdds.conf.OzoneConfiguration;
import org.apache.hadoop.ozone.admin.OzoneAdmin;
import org.apache.hadoop.ozone.debug.OzoneDebug;
import org.apache.hadoop.ozone.freon.Freon;
import org.apache.hadoop.ozone.shell.OzoneShell;
import org.apache.hadoop.ozone.shell.s3.S3Shell;
import org.apache.hadoop.util.ToolRunner;

/** The published command-line tools, called as their launchers call them: a new one for each command. */
final class Tool {
  private Tool() {
  }

  /** Runs {@code ozone words...}; prints to System.out and System.err. */
  static int run(String[] words) throws Exception {
    String[] rest = Arrays.copyOfRange(words, 1, words.length);
    switch (words[0]) {
      case "sh":
        return run(new OzoneShell(), rest);
      case "s3":
        return run(new S3Shell(), rest);
      case "admin":
        return run(new OzoneAdmin(), rest);
      case "debug":
        return run(new OzoneDebug(), rest);
      case "freon":
        return run(new Freon(), rest);
      case "fs":
        return fs(rest);
      default:
        throw new IllegalArgumentException("no tool " + words[0]);
    }
  }

  private static int run(GenericCli tool, String[] words) {
    int status = tool.execute(words);
    tool.getCmd().getOut().flush();
    tool.getCmd().getErr().flush();
    return status;
  }

  private static int fs(String[] words) throws Exception {
    OzoneFsShell shell = new OzoneFsShell(new OzoneConfiguration());
    try {
      return ToolRunner.run(shell, words);
    } finally {
      shell.close();
      FileSystem.closeAll();
    }
  }
}
