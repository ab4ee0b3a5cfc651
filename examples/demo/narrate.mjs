// How the demo speaks: steps in bold, words for people, checks that end it when they do not hold.
const isTerminal = process.stdout.isTTY === true;
const style = (code, text) => (isTerminal ? `\x1b[${code}m${text}\x1b[0m` : text);
const startedMs = Date.now();
let steps = 0;

export function step(title) {
  steps += 1;
  const seconds = ((Date.now() - startedMs) / 1_000).toFixed(1).padStart(4);
  console.log(`\n${style(1, `${steps}. ${title}`)} ${style(2, `[${seconds} s]`)}`);
}

export function explain(...lines) {
  for (const line of lines) console.log(style(2, `   ${line}`));
}

export function note(text) {
  console.log(`   ${text}`);
}

/** One claim of the demo. */
export function failUnless(holds, claim) {
  console.log(`   ${holds ? style(32, 'ok') : style(31, 'NOT')}  ${claim}`);
  if (!holds) throw new Error(`this does not hold: ${claim}`);
}

export function done(failed) {
  console.log(failed ? style(31, '\nThe demo failed.') : style(32, '\nAll of it held.'));
  process.exitCode = failed ? 1 : 0;
}
