/** The configuration of VitePress. `scripts/site/build.ts` copies it next to the pages. */
import { readFileSync } from "node:fs";
import { slug } from "./slug.mjs";

/** Pages that are made when the site is built: `{ text, link }` by section. */
const generated = JSON.parse(readFileSync(new URL("./generated.json", import.meta.url), "utf8"));

const items = (folder, pages) => Object.entries(pages).map(([name, text]) => ({ text, link: `/${folder}${name}` }));

const sidebar = [
  {
    text: "Start",
    items: [
      ...items("start/", { why: "Why jobs", install: "Install", quickstart: "Quickstart", concepts: "Concepts" }),
      { text: "Benchmarks", link: "/benchmarks" },
    ],
  },
  {
    text: "Guides",
    items: items("guides/", {
      retries: "Retries and errors",
      scheduling: "Scheduling and queues",
      cron: "Cron",
      unique: "Unique jobs, debounce, throttle",
      limits: "Fairness and limits",
      timeouts: "Timeouts, cancelling, isolation",
      programs: "Programs in any language",
      "http-handlers": "HTTP handlers",
      webhooks: "Webhooks",
      packages: "Packages of npm",
      runtimes: "Handlers in Node, Python, Ruby",
      frameworks: "Rails, Django, Express, Next.js",
      schemas: "Schemas of arguments",
      results: "Results and history",
      streams: "Streams",
      events: "Events",
      batches: "Batches",
      flows: "Flows",
      workflows: "Workflows as code",
      testing: "Testing",
      pushing: "Pushing from any language",
      outbox: "Outbox",
      transactions: "Transactions",
      clients: "Clients for Node, Python, Ruby",
      library: "The library",
    }),
  },
  {
    text: "Operate",
    items: [
      ...items("operate/", {
        deploy: "Deploy",
        sqlite: "SQLite in production",
        redis: "Redis in production",
        postgres: "PostgreSQL in production",
      }),
      { text: "Dashboard", link: "/dashboard" },
      ...items("operate/", {
        terminal: "The terminal view",
        monitoring: "Monitoring and alerts",
        tracing: "Traces",
        security: "Security",
        upgrade: "Upgrade",
        proxy: "Behind a reverse proxy",
        reliability: "Reliability",
        troubleshooting: "Troubleshooting",
        runbook: "Runbook",
      }),
    ],
  },
  {
    text: "Migrate",
    items: items("migrate/", {
      sidekiq: "From Sidekiq",
      bullmq: "From BullMQ",
      rq: "From RQ",
      celery: "From Celery",
      crontab: "From crontab",
      hyperf: "From Hyperf",
    }),
  },
  {
    text: "Reference",
    items: [
      { text: "Command line", collapsed: true, items: generated.commands },
      ...items("reference/", {
        configuration: "Configuration",
        "job-options": "Job options",
        "worker-protocol": "Worker protocol",
        cron: "Cron",
        "library-api": "Library",
        "http-api": "HTTP API",
        metrics: "Metrics",
        json: "JSON output",
      }),
      { text: "Changelog", link: "/changelog" },
    ],
  },
  {
    text: "Internals",
    collapsed: true,
    items: [
      { text: "Architecture", link: "/architecture" },
      ...items("internals/", {
        liveness: "Liveness",
        limits: "Limits",
        throughput: "Throughput and cost",
        postgres: "PostgreSQL",
        deno: "Deno facts",
      }),
      { text: "Contributing", link: "/contributing" },
    ],
  },
];

export default {
  title: "jobs",
  description: "Background jobs in one executable",
  base: process.env.DOCS_BASE ?? "/",
  cleanUrls: false,
  lastUpdated: false,
  // One page after the other: the search index numbers sections in the order in which they end.
  buildConcurrency: 1,
  markdown: { anchor: { slugify: slug } },
  themeConfig: {
    search: { provider: "local" },
    sidebar,
    outline: [2, 3],
    nav: [{ text: "Quickstart", link: "/start/quickstart" }],
  },
};
