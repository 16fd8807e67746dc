// Node: takes jobs line by line, times them here, answers with JSON. With `vm`, programs run in a
// context of that module; otherwise in this one.

const readline = require("node:readline");
const vm = require("node:vm");

const tools = {
  succ: n => n + 1,
  lookup: id => ({id, name: `Item ${id}`, price: id * 1.25 + 0.5, tags: [`t${id % 3}`, "sale"]}),
};

const isolated = process.argv[2] === "vm";
const create = inputs => isolated ? vm.createContext({...tools, ...inputs}) : Object.assign(globalThis, tools, inputs);
const run = (source, context) => isolated ? vm.runInContext(source, context) : (0, eval)(source);

let open = create({});

function measure(job) {
  let answer = null;
  for (let i = 0; i < job.repeats; i++) {
    if (job.text !== null) open[job.name] = JSON.parse(job.text);
    if (job.mode === "fresh") answer = run(job.source, create({}));
    else if (job.mode === "run") answer = run(job.source, open);
  }
  return answer;
}

function handle(job) {
  if (job.op === "open") {
    open = create(job.inputs);
    return {};
  }
  const started = process.hrtime.bigint();
  const answer = measure(job);
  return {ns: Number(process.hrtime.bigint() - started), answer};
}

readline.createInterface({input: process.stdin}).on("line", line => {
  let answer;
  try {
    answer = handle(JSON.parse(line));
  } catch (error) {
    answer = {error: String(error)};
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
