import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import org.apache.hadoop.fs.FileSystem;
import org.junit.runner.JUnitCore;
import org.junit.runner.Request;
import org.junit.runner.Result;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/**
 * {@code Contract MODE... [CLASS]} runs Hadoop's file system contract tests on the cluster that the class path's
 * ozone-site.xml names. No test may fail, and at least as many must pass as on Apache Ozone: a test that skips itself
 * proves nothing.
 */
public final class Contract extends RunListener {
  private static final int TRACE_LINES = 12;

  private final List<Failure> failures = new ArrayList<>();
  private int skipped;

  private Contract() {
  }

  public static void main(String[] args) {
    boolean good = true;
    String only = null;
    List<Mode> modes = new ArrayList<>();
    for (String arg : args) {
      String name = arg.toUpperCase(Locale.ROOT).replace('-', '_');
      if (Arrays.stream(Mode.values()).anyMatch(mode -> mode.name().equals(name))) {
        modes.add(Mode.valueOf(name));
      } else {
        only = arg;
      }
    }
    for (Mode mode : modes.isEmpty() ? List.of(Mode.values()) : modes) {
      good &= new Contract().run(mode, only);
    }
    System.exit(good ? 0 : 1);
  }

  private boolean run(Mode mode, String only) {
    Class<?>[] suites = Arrays.stream(Suites.class.getDeclaredClasses())
        .filter(suite -> only == null || suite.getSimpleName().equals(only))
        .filter(suite -> mode.rootIsABucket() || suite != Suites.RootDirectory.class)
        .sorted(Comparator.comparing(Class::getSimpleName))
        .toArray(Class<?>[]::new);
    Suites.mode = mode;
    JUnitCore core = new JUnitCore();
    core.addListener(this);
    Result result = core.run(Request.classes(suites));
    int passed = result.getRunCount() - result.getFailureCount() - skipped;
    failures.forEach(Contract::show);
    System.out.printf("%s: %d passed (Apache Ozone %d), %d failed, %d skipped, %.1f s%n", mode, passed,
        mode.passedByOzone, result.getFailureCount(), skipped + result.getIgnoreCount(), result.getRunTime() / 1e3);
    try {
      FileSystem.closeAll();
    } catch (IOException e) {
      System.out.println(e);
      return false;
    }
    return result.wasSuccessful() && (only != null || passed >= mode.passedByOzone);
  }

  @Override
  public void testFailure(Failure failure) {
    failures.add(failure);
  }

  @Override
  public void testAssumptionFailure(Failure failure) {
    skipped++;
  }

  private static void show(Failure failure) {
    System.out.println(failure.getDescription().getDisplayName());
    failure.getTrace().lines().limit(TRACE_LINES).forEach(line -> System.out.println("    " + line));
  }
}
