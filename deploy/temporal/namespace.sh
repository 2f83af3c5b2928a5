#!/bin/sh
# Makes the namespace, if it is not there. Closed jobs stay in Temporal for 30 days; their reports
# and journals are in the store, which forgets nothing by itself.
set -eu

until temporal operator cluster health >/dev/null 2>&1; do sleep 2; done
temporal operator namespace describe --namespace default >/dev/null 2>&1 ||
  temporal operator namespace create --namespace default --retention 30d
