import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import org.apache.hadoop.fs.FileSystem;
import org.junit.runner.JUnitCore;
import org.junit.runner.Request;
import org.junit.runner.Result;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/**
 * {@code Contract MODE... CLASS... [NUMBER]} runs Hadoop's file system contract tests on the cluster that the class path's
 * ozone-site.xml names. No test may fail, and at least as many must pass as on Apache Ozone, or as the
 * number says: a test that skips itself proves nothing.
 */
public final class Contract extends RunListener {
  private static final int TRACE_LINES = 12;

  private final List<Failure> failures = new ArrayList<>();
  private int skipped;

  private Contract() {
  }

  public static int run(String[] args) {
    boolean good = true;
    List<String> only = new ArrayList<>();
    OptionalInt must = OptionalInt.empty();
    List<Mode> modes = new ArrayList<>();
    for (String arg : args) {
      String name = arg.toUpperCase(Locale.ROOT).replace('-', '_');
      if (Arrays.stream(Mode.values()).anyMatch(mode -> mode.name().equals(name))) {
        modes.add(Mode.valueOf(name));
      } else if (arg.chars().allMatch(Character::isDigit)) {
        must = OptionalInt.of(Integer.parseInt(arg));
      } else {
        only.add(arg);
      }
    }
    for (Mode mode : modes.isEmpty() ? Mode.usual() : modes) {
      good &= new Contract().run(mode, only, must.orElse(only.isEmpty() ? mode.passedByOzone : 1));
    }
    return good ? 0 : 1;
  }

  private boolean run(Mode mode, List<String> only, int must) {
    Class<?>[] suites = Arrays.stream(Suites.class.getDeclaredClasses())
        .filter(suite -> only.isEmpty() || only.contains(suite.getSimpleName()))
        .filter(suite -> mode.rootIsABucket() || suite != Suites.RootDirectory.class)
        .sorted(Comparator.comparing(Class::getSimpleName))
        .toArray(Class<?>[]::new);
    Suites.mode = mode;
    JUnitCore core = new JUnitCore();
    core.addListener(this);
    Result result = core.run(Request.classes(suites));
    int passed = result.getRunCount() - result.getFailureCount() - skipped;
    failures.forEach(Contract::show);
    System.out.printf("%s: %d passed (at least %d must), %d failed, %d skipped, %.1f s%n", mode, passed, must,
        result.getFailureCount(), skipped + result.getIgnoreCount(), result.getRunTime() / 1e3);
    try {
      FileSystem.closeAll();
    } catch (IOException e) {
      System.out.println(e);
      return false;
    }
    return result.wasSuccessful() && passed >= must;
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
