import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { Metrics } from "../../cli/src/serve/metrics/metrics.ts";
import { newFolder } from "../support/node/new-folder.ts";

const RULES = "deploy/alerts.yml";
const rules = readFileSync(RULES, "utf8");
const names = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
const PROMTOOL = spawnSync("promtool", ["--version"]).status === 0;

it("the page of alerts and the rules name the same alerts", () => {
  const page = readFileSync("docs/operators/alerts.md", "utf8");
  const named = [...page.matchAll(/`(UserGroupService\w+)`/g)].map(([, name]) => name);
  expect([...new Set(named)].toSorted()).toEqual(names.toSorted());
});

it("a service that has refused nothing has a 0 for each code of the rules", async () => {
  const { url } = await new Metrics().listen(0);
  const text = await (await fetch(url)).text();
  const codes = [...rules.matchAll(/code=~?"([\w|]+)"/g)].flatMap(([, code = ""]) => code.split("|"));
  expect(codes.length).toBeGreaterThan(4);
  for (const code of codes) expect(text).toContain(`ug_refusals_total{code="${code}"} 0\n`);
});

/** For each alert, series that raise it within ninety minutes, and series that do not. */
const CASES: Record<string, { raised: Record<string, string>; quiet: Record<string, string> }> = {
  UserGroupServiceDown: {
    raised: { 'up{job="user-group-service"}': "0x90" },
    quiet: { 'up{job="user-group-service"}': "1x90" },
  },
  UserGroupServiceNotReady: { raised: { ug_ready: "0x90" }, quiet: { ug_ready: "1x80 0 1x9" } },
  UserGroupServiceRefusesOfItself: {
    raised: { 'ug_refusals_total{code="internal_error"}': "0x88 1 1" },
    quiet: { 'ug_refusals_total{code="internal_error"}': "7x90" },
  },
  UserGroupServiceDatabaseDamaged: {
    raised: { ug_databases_damaged: "0x80 1x10" },
    quiet: { ug_databases_damaged: "0 1 0x90" },
  },
  UserGroupServiceOverloaded: {
    raised: { 'ug_refusals_total{code="overloaded"}': "0+3x90" },
    quiet: { 'ug_refusals_total{code="overloaded"}': "0+1x90" },
  },
  UserGroupServiceDirectoryUnavailable: {
    raised: { 'ug_refusals_total{code="directory_unavailable"}': "0+2x90", ug_http_requests_total: "0+100x90" },
    quiet: { 'ug_refusals_total{code="directory_unavailable"}': "0+2x90", ug_http_requests_total: "0+300x90" },
  },
  UserGroupServiceDiskAlmostFull: {
    raised: { ug_disk_free_bytes: "1000000000x90" },
    quiet: { ug_disk_free_bytes: "3000000000x90" },
  },
  UserGroupServiceDatabaseAlmostFull: {
    raised: { 'ug_largest_database_bytes{class="GroupDirectory"}': "8500000000x90" },
    quiet: { 'ug_largest_database_bytes{class="GroupDirectory"}': "7000000000x90" },
  },
  UserGroupServiceMemoryHigh: {
    raised: { 'ug_memory_bytes{process="workerd"}': "850000000x90", 'ug_memory_bytes{process="ug"}': "80000000x90" },
    quiet: { 'ug_memory_bytes{process="workerd"}': "400000000x90", 'ug_memory_bytes{process="ug"}': "80000000x90" },
  },
  UserGroupServiceAlarmLate: {
    raised: { ug_late_alarms_total: "0x70 1x20" },
    quiet: { ug_late_alarms_total: "4x90" },
  },
  UserGroupServiceBackupOld: {
    raised: { ug_newest_backup_age_seconds: "94000x90" },
    quiet: { ug_newest_backup_age_seconds: "93000x90" },
  },
  UserGroupServiceBackupsOnStateDisk: {
    raised: { ug_backups_share_disk: "1x90" },
    quiet: { ug_backups_share_disk: "0x90" },
  },
  UserGroupServiceSecretKeyInBrowser: {
    raised: { 'ug_refusals_total{code="secret_key_in_browser"}': "0x80 1x10" },
    quiet: { 'ug_refusals_total{code="secret_key_in_browser"}': "2x90" },
  },
  UserGroupServiceRateLimited: {
    raised: { 'ug_refusals_total{code="rate_limited"}': "0+2x90", ug_http_requests_total: "0+100x90" },
    quiet: { 'ug_refusals_total{code="rate_limited"}': "0+2x90", ug_http_requests_total: "0+300x90" },
  },
};

describe.skipIf(!PROMTOOL)(`the alert rules${PROMTOOL ? "" : ", skipped: promtool is missing"}`, () => {
  it("are valid, and all are tried here", () => {
    const { status, stderr } = spawnSync("promtool", ["check", "rules", RULES], { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    expect(names.toSorted()).toEqual(Object.keys(CASES).toSorted());
  });

  /** A test of promtool: how many alerts of this name Prometheus has raised at the end of the series. */
  const testOf = (name: string, series: Record<string, string>, count: number) => ({
    interval: "1m",
    input_series: Object.entries(series).map(([of, values]) => ({ series: of, values })),
    promql_expr_test: [
      {
        expr: `count(ALERTS{alertname="${name}",alertstate="firing"}) or vector(0)`,
        eval_time: "89m",
        exp_samples: [{ labels: "{}", value: count }],
      },
    ],
  });

  it("raise each when it is so, and not before", () => {
    const tests = Object.entries(CASES).flatMap(([name, { raised, quiet }]) => [
      testOf(name, raised, 1),
      testOf(name, quiet, 0),
    ]);
    const file = join(newFolder(), "rules-test.json");
    writeFileSync(file, JSON.stringify({ rule_files: [resolve(RULES)], evaluation_interval: "1m", tests }));
    const { stdout, stderr } = spawnSync("promtool", ["test", "rules", file], { encoding: "utf8" });
    expect(stderr).toBe("");
    expect(stdout).toContain("SUCCESS");
  });
});
