#!/usr/bin/env bash
# Installs validators and runs them over everything in deploy/: a line for each thing checked, with
# what is wrong under it, and a summary. The image's steps: deploy/image_root.py.
# Usage: deploy/check.sh   (TOKENDRAW_BUILD: the directory of tokendrawd and tokendraw; default
# build/release)
set -euo pipefail
cd "$(dirname "$0")/.."

readonly HELM_VERSION=v3.12.3
readonly KUBERNETES_VERSIONS=(1.30 1.37) # the chart's kubeVersion, the newest with schemas
readonly EXPOSURE=15                     # of the unit, in tenths; systemd calls up to 1.9 OK

export TOKENDRAW_BUILD=${TOKENDRAW_BUILD:-build/release}
readonly TOOLS=build/deploy
readonly BIN=$TOOLS/venv/bin
readonly CHART=deploy/kubernetes/tokendraw
readonly MONITORING=deploy/monitoring

bash deploy/install_packages.sh deploy/check_packages.txt
if ! cmp -s deploy/check_requirements.txt $TOOLS/requirements.txt; then
  python3 -m venv --clear $TOOLS/venv
  $BIN/pip install --quiet --disable-pip-version-check -r deploy/check_requirements.txt
  cp deploy/check_requirements.txt $TOOLS/requirements.txt
fi
export GOBIN=$PWD/$TOOLS/bin GOTOOLCHAIN=local
[ -x "$GOBIN/helm" ] || $BIN/go install "helm.sh/helm/v3/cmd/helm@$HELM_VERSION"
$BIN/go -C $MONITORING/load_dashboard install .
readonly HELM=$GOBIN/helm

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# check NAME COMMAND...
check() {
  local name=$1
  shift
  if "$@" >"$work/output" 2>&1; then
    echo "ok    $name"
    passed=$((passed + 1))
  else
    echo "FAIL  $name"
    sed 's/^/      /' "$work/output"
    failed=$((failed + 1))
  fi
}

# fails_with TEXT COMMAND...: the command fails and says so.
fails_with() {
  local text=$1
  shift
  if "$@" >"$work/refusal" 2>&1; then
    echo 'it does not fail'
    return 1
  fi
  grep -F -- "$text" "$work/refusal" || { cat "$work/refusal"; return 1; }
}

validate() { $BIN/python deploy/check_manifests.py "$1" <"$2"; }

# The unit with the programs where they are. An unknown key is but a warning: there must be none.
verify_unit() {
  sed "s#/usr/bin/#$(realpath "$TOKENDRAW_BUILD")/#" deploy/systemd/tokendrawd.service \
    >"$work/tokendrawd.service"
  systemd-analyze verify --man=no "$work/tokendrawd.service" 2>&1 | tee "$work/warnings"
  ! grep -q tokendrawd.service "$work/warnings"
}

# Carried out in a directory.
create_tmpfiles() {
  mkdir -p "$work/root/etc" "$work/root/dev/shm"
  echo 'root:x:0:0::/:' >"$work/root/etc/passwd"
  printf 'root:x:0:\ntokendraw:x:7:\n' >"$work/root/etc/group"
  systemd-tmpfiles --create --root="$work/root" "$PWD/deploy/systemd/tokendraw.tmpfiles"
  [ "$(stat -c '%a %u %g' "$work/root/dev/shm/tokendraw")" = '2770 0 7' ]
}

for values in "$CHART"/ci/*-values.yaml; do
  mode=$(basename "$values" -values.yaml)
  check "chart, $mode: helm lint" "$HELM" lint --strict $CHART -f "$values"
  for version in "${KUBERNETES_VERSIONS[@]}"; do
    manifest=$work/$mode-$version.yaml
    check "chart, $mode: helm template for Kubernetes $version" \
      "$HELM" template tokendraw $CHART -f "$values" --kube-version "$version" --output-dir "$work/$mode-$version"
    cat "$work/$mode-$version"/tokendraw/templates/*.yaml >"$manifest"
    check "chart, $mode: schemas of Kubernetes $version" validate "$version" "$manifest"
  done
done
check 'chart: a pool without TLS must be asked for' fails_with \
  'a pool needs tls.secretName, or allowInsecure: true' \
  "$HELM" template tokendraw $CHART --kube-version "${KUBERNETES_VERSIONS[0]}"
check 'chart: values are checked against their schema' fails_with 'threads: Must be greater' \
  "$HELM" template tokendraw $CHART --set mode=sidecar --set threads=0
check 'unit: systemd-analyze verify' verify_unit
check 'unit: systemd-analyze security' \
  systemd-analyze security --offline=true --threshold=$EXPOSURE deploy/systemd/tokendrawd.service
check 'tmpfiles: systemd-tmpfiles --create' create_tmpfiles
check 'image: hadolint' $BIN/hadolint --failure-threshold warning deploy/Dockerfile
check 'alerts: promtool check rules' promtool check rules $MONITORING/alerts.yml
check 'alerts: promtool test rules' promtool test rules $MONITORING/alerts_test.yml
check 'scraping: promtool check config' promtool check config $MONITORING/prometheus.yml
check "dashboard: Grafana's types" "$GOBIN/load_dashboard" $MONITORING/dashboard.json
for names in flags metrics versions times; do
  check "names: $names" $BIN/python deploy/check_names.py $names "$work"/*.yaml
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
