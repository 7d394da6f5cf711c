# usage: compile.sh FOLDER|stdlib: bytecode beside every module, and times that do not differ between two builds.
# Unchecked-hash bytecode is never compared with its source, and images come without any for the standard library:
# together they cut the start of a process that imports NumPy and Pillow to about half.
set -eu
folder=$1
if [ "$folder" = stdlib ]; then
    folder=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
fi
python3 -m compileall -q -f -j 0 --invalidation-mode unchecked-hash -x '/(test|tests|idlelib|lib2to3|site-packages)/' "$folder"
find "$folder" \( -type d -o -name '*.pyc' \) -exec touch -h -d @1704067200 {} +
touch -d @1704067200 /opt/assay /opt
