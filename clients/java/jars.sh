# Sourced in this directory: where the jars of the published clients are, fetched when they are not.

cache="${O3_JAVA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/trioxide/java}"
mkdir -p "$cache"
sum_of() { find "$@" -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c1-16; }
plugin=org.apache.maven.plugins:maven-dependency-plugin:3.8.1

# fetch PROJECT: its jars in $cache/PROJECT-SUM
fetch() {
    local to
    to="$cache/$1-$(sum_of "$1/pom.xml" maven)"
    if [ ! -d "$to" ]; then
        echo "clients/java: fetching the jars of $1 from Maven Central" >&2
        rm -rf "$to.part"
        mvn -q -B -Dstyle.color=never -f "$1/pom.xml" "$plugin:copy-dependencies" -DincludeScope=runtime -DoutputDirectory="$to.part" >&2
        mv "$to.part" "$to"
    fi
    echo "$to"
}

# compile SOURCES JARS: its classes in $cache/SOURCES-classes-SUM
compile() {
    local to
    to="$cache/$1-classes-$(sum_of "src/$1")"
    if [ ! -d "$to" ]; then
        rm -rf "$to.part"
        javac --release 17 -Xlint:all,-path,-classfile -Werror -d "$to.part" -cp "$2/*" "src/$1"/*.java >&2
        mv "$to.part" "$to"
    fi
    echo "$to"
}
