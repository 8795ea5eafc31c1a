/**
 * Calls of the scripts on Redis, each with the keys that it needs.
 *
 * @module
 */
import { type Script, SCRIPTS } from "../../src/store/redis/client/scripts.ts";
import {
  ASLEEP,
  BATCHES,
  call,
  CANCELLED,
  CRON,
  FLOW,
  GROUPED,
  GROUPS,
  LATER,
  LEASED,
  LEASES,
  LOCKED,
  NOW,
  open,
  payload,
  SLEEPING,
  TOKEN,
  WAITING,
  WORKER,
} from "./redis_given.ts";
import type { Call } from "./redis_whole.ts";

/** The scripts that may write. One that can't has the flag `no-writes`. */
export const WRITING: Readonly<Record<string, Script>> = Object.fromEntries(
  Object.entries<Script>(SCRIPTS)
    .filter(([, { text }]) => !text.slice(0, text.indexOf("\n")).includes("no-writes")),
);

/** Events are recorded. */
const RECORDING = [`HSET jobs:events:log until ${LATER} keep 1000`];

/** Calls of each script that may write. */
export const CALLS: Readonly<Record<string, readonly Call[]>> = {
  announce: [
    call("jobs:announced", "m []", []),
    call("jobs:announced", "m []", ["HSET jobs:announced id l gone 1"]),
  ],
  batchAdmit: [call(LEASES, `0 ${TOKEN} b`, [...BATCHES, ...LEASED], ['"j1"'])],
  batchClose: [
    call("", "0 b closed", [
      ...BATCHES,
      "HSET jobs:batch:b pending 0 succeeded 1",
    ]),
    call("", "0 f closed", FLOW),
    call("", "0 f cancelled", FLOW),
  ],
  batchCorrect: [
    call("", "0 b 0 0 0", [...BATCHES, "HSET jobs:batch:b closed_as closed"]),
  ],
  batchCreate: [
    call(
      "jobs:batch:c",
      `0 c p "" "" 1000 1000 8 "" {} "" 0 "" 1 success default ${open("d")}`,
      BATCHES,
    ),
    call("jobs:batch:c", `0 c "" "" "" 1000 1000 8 1 {} flow:k 1000 x 0`, []),
    call("jobs:batch:c", `0 c "" "" "" 1000 1000 8 1 {} flow:k 1000 x 0`, [
      `SET jobs:once:flow:k ${LATER}/x·b`,
      "HSET jobs:batch:b closed_as abandoned",
    ]),
  ],
  batchTend: [
    call("", `0 10 ""`, [...BATCHES, "ZADD jobs:batches:due 1 b"]),
    call("", `0 10 ""`, [
      ...FLOW,
      "HSET jobs:batch:f closed_as closed",
      "ZADD jobs:batches:due 1 f",
    ]),
    call("", `0 10 ""`, [
      ...FLOW,
      ...BATCHES,
      "HSET jobs:batch:f closed_as closed",
      "HSET jobs:flow:f x: run",
      "RPUSH jobs:flows:pending f·",
      "ZADD jobs:batches:due 1 b",
    ]),
    call("", "0 10 nodes", [
      ...FLOW,
      "HSET jobs:batch:f closed_as cancelled",
      "HSET jobs:flow:f x:* cancel",
      "RPUSH jobs:flows:pending f·*",
    ]),
  ],
  claim: [
    call("jobs:claim:n", `0 ${WORKER} 1000`, [
      "HSET jobs:claim:n worker other till 1",
      ...LEASED,
    ]),
    call("jobs:claim:n", `0 ${WORKER} 1000`, []),
    call("jobs:claim:n", `0 ${WORKER} 0`, [
      `HSET jobs:claim:n worker ${WORKER} till 1`,
    ]),
  ],
  claimScratch: [
    call("", `take bench q 1000 ""`, []),
    call("", "clear bench q 1000 0", [
      `SET jobs:scratch ${LATER}·bench·q`,
      "LPUSH queue:q x",
      "ZADD jobs:workers 1 w",
    ]),
    call("", `leave bench q 1000 ""`, [`SET jobs:scratch ${LATER}·bench·q`]),
  ],
  countLeases: [
    call(LEASES, `${WORKER} default 1 ${GROUPED}`, [...GROUPS, ...LEASED]),
  ],
  cronClaim: [call("", "0 10 1000", CRON)],
  cronPage: [call("", `0 "" "" name "" "" 10`, CRON), call("", `0 "" "" next 1 e 10`, CRON)],
  cronRead: [call("", "0 1 e", CRON)],
  cronReplan: [call("", `0 "" 10`, CRON)],
  cronSurvey: [call("", "0 1 e", CRON)],
  cronWrite: [
    call(
      "jobs:cron:done:w",
      `0 8 10 1000 1000 1 e 1 {} 5 1 define 1 u {} j1 1 default j2 ${open("j2")} 0 1 "type":"cron.missed" 1 r2`,
      [...CRON, ...RECORDING],
    ),
    call("jobs:cron:done:w", '0 8 10 1000 1000 1 e 1 "" inf "" remove "" "" "" "" 0 0 0 0', CRON),
  ],
  declareClasses: [
    call("jobs:classes", `0 1000 "" 1 A {}`, [
      `HSET jobs:classes B {"declared_at":1,"options":{}}`,
    ]),
    call("jobs:classes", `0 1000 ${WORKER} 1 A {}`, []),
  ],
  declareWebhooks: [call("", `0 ${WORKER} 1 a {}`, [])],
  deregister: [
    call(LEASES, `0 ${WORKER}`, [...GROUPS, ...LEASED], ['"j1"', '"j2"']),
    call(LEASES, `0 ${WORKER}`, [...GROUPS, ...LEASED, ...CANCELLED], [
      '"j1"',
      '"j2"',
    ]),
  ],
  enqueue: [
    call(
      "jobs:pusher:c",
      `0 8 1 60000 ${NOW} ` +
        `[[1,"debounce","k","j1",1000,0],[2,"lock","u","j2",1000],[3,"lock","v","j3",1000],[3,"once","o","j3",1000],` +
        `[3,"throttle","t","j3",2,1000],[3,"member","b","",""]] ` +
        `1 {"class":"A","jid":" "} 1 now 0 default 0 {"class":"A","jid":" "} ` +
        `2 now default 1 ${payload("j3")} now default|g 1 ${payload("j4")} 2 in 1000 default ${payload("j5")} ` +
        `in 0 other ${payload("j6")}`,
      [
        ...BATCHES,
        ...GROUPS,
        `SET jobs:debounce:k 1·j0·${payload("j0")}`,
        `ZADD schedule 99 ${payload("j0")}`,
        `RPUSH jobs:throttle:t 1·j0`,
        `SET jobs:unique:u ${LATER}·j7`,
        `SET jobs:unique-of:j7 u PX 100000`,
        `LPUSH queue:default ${payload("j7")}`,
        `EVAL return·redis.call('SET','jobs:replaceable:j7',cmsgpack.pack({'queue:default',ARGV[1]})) 0 ${
          payload("j7")
        }`,
      ],
    ),
    call(
      "jobs:pusher:c",
      `0 8 1 60000 ${NOW} [[1,"debounce","k","j1",1000,0],[2,"throttle","t","j2",2,1000]] ` +
        `1 {"class":"A","jid":" "} 0 1 now default 1 ${payload("j2")} 0`,
      [],
    ),
  ],
  eventsKeep: [
    call("", "0 1000", []),
    call("", "0 1000", ["HSET jobs:events:log until 1 keep 1000", "XADD jobs:events 1-0 at 1 before 0 body {}"]),
  ],
  flowAdd: [call("", `0 f 1 o2 1 {"queue":"default"} [] ${open("o2")}`, FLOW)],
  flowImport: [
    call("jobs:flow:f", `1 o2 0 {} [] waiting·1 run ${open("o2")} {}`, []),
  ],
  forgetQueue: [call("", "0 q", ["SADD queues q"])],
  heartbeat: [
    call("", `${WORKER} 0 60000 {} 5 1 0 false 1 1 task {}`, [
      `LPUSH ${WORKER}-signals TSTP`,
      `ZADD jobs:workers ${LATER} other`,
      "HSET jobs:worker:other ttl 60000 since 1",
    ]),
    call("", `${WORKER} 0 60000 {} 5 1 0 false 1 1 task {}`, LEASED),
  ],
  importJobs: [
    call(
      "jobs:imported:m",
      `0 60000 3 schedule ${LATER} ${payload("j", `,"has_steps":true`)} u j 1000 k 1 j ` +
        `queue:default 0 ${payload("j1", `,"on_duplicate":"replace"`)} v j1 1000 "" "" "" queue:default|g 0 ${
          payload("j2")
        } "" "" 0 "" "" ""`,
      [
        ...GROUPS,
        "HSET jobs:steps:j s {}",
        `SET jobs:debounce:k 1·j0·${payload("j0")}`,
      ],
    ),
  ],
  importSteps: [
    call("jobs:steps:j", `0 j 1 2 w {"state":"succeeded"} v ${WAITING}`, ASLEEP),
  ],
  importStream: [call("jobs:stream:j", "2 1 1 1 [1] 3 2 1 [2,3]", [])],
  importThrottles: [call("", "0 2 t 1000 1 0 j u 1000 1 0 j", [])],
  limitGroup: [
    call("", "begin 0 default g 1 0 0 0 0", []),
    call("", "set 0 default g 1 0 0 0 1000", GROUPS),
    call("", "set 0 default g 0 0 0 0 0", GROUPS),
  ],
  limitQueue: [
    call("", "default 1 5 1000", [
      ...GROUPS,
      ...LEASED,
      "LPUSH jobs:starts:default 1",
    ]),
    call("", "default 0 0 0", [...GROUPS, ...LEASED]),
  ],
  migrateOut: [
    call(
      "jobs:announced",
      `m 3 schedule "" ${payload("j", `,"debounce_key":"k"`)} j1 queue:default 0 ${payload("j2")} j queue:default|g 0 ${
        payload("g1")
      } ""`,
      [
        ...GROUPS,
        ...ASLEEP,
        ...LOCKED,
        ...CRON,
        "HSET jobs:announced id m refs []",
        `ZADD schedule 9 ${payload("j", `,"debounce_key":"k"`)}`,
        `SET jobs:debounce:k 1·j·${payload("j", `,"debounce_key":"k"`)}`,
        `RPUSH queue:default ${payload("j2")}`,
      ],
    ),
  ],
  move: [
    call(
      "jobs:mover:c",
      `0 1 60000 10 100000 10 8 3 schedule "" ${payload("j9")} queue:default|g "" "" "" "" "" 0 ` +
        `queue:default 0 ${payload("j2")} dead "" j1 "" "" "" 0 ` +
        `retry "" ${
          payload(
            "j3",
            `,"batch":"b","batch_counted":"pending","parent":{"jid":"j","step":"w"}`,
          )
        } "" "" j j3 1000 {} 0`,
      [
        ...GROUPS,
        ...SLEEPING,
        ...LOCKED,
        ...CRON,
        ...BATCHES,
        `ZADD schedule 9 ${payload("j9")}`,
        `RPUSH queue:default ${payload("j2")}`,
        `ZADD retry 9 ${
          payload(
            "j3",
            `,"batch":"b","batch_counted":"pending","parent":{"jid":"j","step":"w"}`,
          )
        }`,
      ],
      ['"j9"', '"j2"'],
    ),
  ],
  note: [
    call("", `0 ${WORKER} "" "" killed`, LEASED),
    call("", `0 ${WORKER} [] 1 ""`, []),
  ],
  pauseGroup: [
    call("", `0 default h ""`, GROUPS),
    call("", "0 default z 0", GROUPS),
  ],
  pauseQueue: [
    call("", "0 q 1000", ["SADD paused q", "ZADD jobs:paused-until 1 p"]),
    call("", `0 q ""`, []),
  ],
  reconcileLeases: [
    call(LEASES, "12345678 1234567800000001 0 0", [...GROUPS, ...LEASED], ['"j1"', '"j2"']),
    call(LEASES, "12345678 1234567800000001 0 0", [...GROUPS, ...LEASED, ...CANCELLED], [
      '"j1"',
      '"j2"',
    ]),
  ],
  recordMetrics: [
    call(
      "jobs:measured:1 j|1|1:10 j|1|1:11",
      "1000 1000 1 A 1 1 5 h|A-1-1:1 h|A-01-01:1 0·1·3·2",
      [],
    ),
  ],
  reply: [call("jobs:reply:1", "0 text", [])],
  rescue: [
    call(
      "",
      `0 r 1 ${WORKER} [] 2 ${GROUPED} ${payload("j2")} ${TOKEN} ${payload("j1", `,"on_duplicate":"replace"`)}`,
      [
        ...GROUPS,
        ...LEASED,
        `ZADD jobs:workers 1 ${WORKER} ${NOW + 60_000} r`,
        "HSET jobs:worker:r ttl 60000 since 1",
        `HSET jobs:worker:${WORKER} ttl 60000`,
        ...LOCKED,
      ],
      ['"j1"', '"j2"'],
    ),
    call(
      "",
      `0 r 1 ${WORKER} [] 1 ${GROUPED} ${payload("j2")}`,
      [
        ...GROUPS,
        ...LEASED,
        ...CANCELLED,
        `ZADD jobs:workers 1 ${WORKER} ${NOW + 60_000} r`,
        "HSET jobs:worker:r ttl 60000 since 1",
      ],
      ['"j1"', '"j2"'],
    ),
  ],
  sampleQueues: [
    call(
      "jobs:queue-samples:60:1 jobs:queue-samples:600:1",
      "2 f 1 g 2 2 100 100",
      [
        "HSET jobs:queue-samples:60:1 f 0",
      ],
    ),
  ],
  returnAsides: [
    call(
      "",
      "10",
      [
        "SADD jobs:asides default",
        "ZADD jobs:groups:aside:default 0 |@A",
        `LPUSH queue:default||@A ${payload("j20")}`,
        "SADD queues default",
        "SADD processes s",
        `HSET s info {"queues":["default"]} beat 1`,
      ],
      ['"j20"'],
    ),
  ],
  send: [
    call("", `0 ${WORKER} {} TSTP ""`, LEASED),
    call("", `0 s {} TSTP ""`, ["SADD processes s", "HSET s beat 1"]),
    call("", `0 ${WORKER} {} "" ${TOKEN}`, [...LEASED, ...CANCELLED]),
  ],
  settle: [
    call(
      LEASES,
      `0 10 100000 10 8 2 ${TOKEN} u j1 ${TOKEN} "" j1 1 ${TOKEN} j1 1000 {} 1 t3 j 1 ${TOKEN} j w succeeded "" "value":1 ` +
        `0 2 ${TOKEN} j1 "" t5 j 1 0 1 t5 "type":"dead" 1 1 1 b pending succeeded ` +
        `5 ack 1 ${TOKEN} 0 0 0 release 1 ${GROUPED} 0 0 0 ` +
        `retry 1 t2 0 1 1000 1 ${payload("j12", `,"on_duplicate":"replace"`)} ` +
        `schedule 1 t3 0 1 1000 1 ${payload("j13")} dead 1 t5 0 0 1 ${payload("j15")}`,
      [
        ...GROUPS,
        ...SLEEPING,
        ...LOCKED,
        ...CRON,
        ...BATCHES,
        ...LEASED,
        ...RECORDING,
        `HSET ${LEASES} t2 ${payload("j12")} t3 ${payload("j13")} t5 ${payload("j15")}`,
        `SET jobs:unique-of:j12 u2 PX 100000`,
        `ZADD dead 1 ${payload("j16", `,"batch":"b","batch_counted":"dead"`)}`,
        "ZADD jobs:ended 1 i",
      ],
      ['"j2"', '"j12"', '"j13"', '"j15"'],
    ),
    call(
      LEASES,
      `0 10 100000 10 8 0 0 0 0 0 0 0 0 0 1 release 1 ${GROUPED} 0 0 0`,
      [...GROUPS, ...LEASED, ...CANCELLED],
      [
        '"j2"',
      ],
    ),
    call(
      LEASES,
      `0 10 100000 10 8 0 0 0 0 1 ${TOKEN} f pending succeeded n {} 0 0 0 0 1 held·ack 1 ${TOKEN} 0 0 0`,
      [
        ...FLOW,
        ...LEASED,
        "HSET jobs:flow:f s:n pending·1",
        "HSET jobs:batch:f closed_as closed waiting 1",
      ],
    ),
  ],
  signal: [
    call("jobs:signalled:1", "0 60000 k 1 60000 10", SLEEPING),
    call("jobs:signalled:1", "0 60000 k 1 60000 10", []),
  ],
  stepClear: [
    call("jobs:steps:j", "0 j 1 w", SLEEPING),
    call("jobs:steps:j", "0 j 0", SLEEPING),
  ],
  stepRemember: [
    {
      ...call(
        `${LEASES} jobs:steps:j jobs:steps:i`,
        `2 ${TOKEN} s {} ${TOKEN} s {}`,
        LEASED,
      ),
      separate: ["jobs:steps:j"],
    },
  ],
  stepWait: [
    call(
      `${LEASES} jobs:steps:j jobs:waited:c`,
      `0 ${TOKEN} j v "kind":"wait","key":"l" 1000 0 l 8 "" "" "" "" 60000`,
      LEASED,
    ),
    call(
      `${LEASES} jobs:steps:j jobs:waited:c`,
      `0 ${TOKEN} j v "kind":"wait","key":"k" 1000 0 k 8 "" "" "" "" 60000`,
      [
        ...LEASED,
        ...ASLEEP,
      ],
    ),
    call(
      `${LEASES} jobs:steps:j jobs:waited:c`,
      `0 ${TOKEN} j v "kind":"wait","key":"k" 1000 0 k 8 "" "" "" "" 60000`,
      [
        ...LEASED,
        `RPUSH jobs:signals:k 1·0 ${LATER}·1`,
      ],
    ),
    call(
      `${LEASES} jobs:steps:j jobs:waited:c`,
      `0 ${TOKEN} j v "kind":"child","child":"c" 1000 0 "" 8 default|g ${payload("c")} "" "" 60000`,
      [
        ...LEASED,
        ...GROUPS,
      ],
    ),
    call(
      `${LEASES} jobs:steps:j jobs:waited:c`,
      `0 ${TOKEN} j v "kind":"child","child":"c" 1000 0 "" 8 default ${payload("c")} "" 1000 60000`,
      LEASED,
    ),
    call(
      `${LEASES} jobs:steps:j jobs:waited:c`,
      `0 ${TOKEN} j w "kind":"wait","key":"k" 1000 0 k 8 "" "" "" "" 60000`,
      [
        ...LEASED,
        ...ASLEEP,
      ],
    ),
  ],
  stepWake: [call("jobs:steps:j", "0 j", SLEEPING)],
  streamAppend: [
    call(`${LEASES} jobs:stream:j1`, `${TOKEN} j1 1 0 1000 2 1 2`, LEASED),
    call(`${LEASES} jobs:stream:j1`, `${TOKEN} j1 1 1 10 2 1 2`, [
      ...LEASED,
      `XADD jobs:stream:j1 1-0 token ${TOKEN} run 1 attempt 1 written 1 size 3 body [0]`,
    ]),
  ],
  take: [
    call(
      LEASES,
      `0 ${WORKER} 0123456789abcdef 10 100000 1 "" 0 2 other default`,
      [
        ...GROUPS,
        ...LOCKED,
        `LPUSH queue:other ${payload("j1", `,"unique_until":"start"`)} ${payload("j3", `,"group":"g"`)}`,
        "HSET jobs:limits other 3·5·1000",
        "LPUSH jobs:starts:other 1",
        `LPUSH queue:default ${payload("j2")}`,
      ],
      ['"j1"', '"j2"', '"j3"', '"g1"'],
    ),
    call(
      LEASES,
      `0 ${WORKER} 0123456789abcdef 1 100000 1 "" 1 ${TOKEN.slice(11, 27)} 1 default`,
      [...GROUPS, ...LEASED, ...CANCELLED],
      ['"j1"', '"j2"'],
    ),
  ].map((one) => ({ ...one, separate: ["jobs:workers"] })),
  wakeGroups: [call("", `default "" 10`, GROUPS)],
};
