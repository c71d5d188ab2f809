# Runs ns-3 (Debian: libns3-dev, g++) and writes tests/golden/ns3/saturation.csv anew.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
made=$(mktemp -d)
trap 'rm -r "$made"' EXIT
g++ -std=c++17 -O2 "$here/saturation.cc" -o "$made/saturation" \
    -lns3-wifi -lns3-network -lns3-mobility -lns3-propagation -lns3-core
echo "stations,rts_threshold,run,seconds,received,frames_sent" > "$made/saturation.csv"
for rts in 2347 0; do
    for stations in 1 2 5 10; do
        for run in 1 2 3 4; do
            "$made/saturation" --stations=$stations --rts=$rts --run=$run --seconds=40 >> "$made/saturation.csv"
        done
    done
done
cp "$made/saturation.csv" "$here/../../golden/ns3/saturation.csv"
