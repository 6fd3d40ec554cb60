#!/usr/bin/env bash
# What the tests of reports need to open one in a browser: Debian's chromium, and two packages of node in .browser/.
# It installs what it may, and says what it could not: the tests are then skipped, saying why.
set -uo pipefail
cd "$(dirname "$0")/../.."

if ! command -v chromium >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; } >/dev/null 2>&1 ||
    echo "chromium could not be installed: reports are not tried in a browser"
fi
if [ ! -d .browser/node_modules/axe-core ] && command -v npm >/dev/null; then
  mkdir -p .browser
  cp tools/browser/package.json .browser/
  npm install --prefix .browser --no-audit --no-fund --silent >/dev/null 2>&1 ||
    echo "axe-core and puppeteer-core could not be installed: reports are not tried in a browser"
fi
exit 0
