#!/bin/sh
# Brings both of Temporal's databases to this release's schema; what is there already stays.
# temporal-sql-tool reads SQL_PLUGIN, SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD.
set -eu

for pair in temporal:temporal temporal_visibility:visibility; do
  database=${pair%:*}
  temporal-sql-tool --db "$database" create
  temporal-sql-tool --db "$database" setup-schema -v 0.0
  temporal-sql-tool --db "$database" update-schema \
    -d "/etc/temporal/schema/postgresql/v12/${pair#*:}/versioned"
done
