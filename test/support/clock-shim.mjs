// Loaded into a process before it starts (NODE_OPTIONS=--import …): its wall clock steps by
// HEP_CLOCK_STEP_MS with each SIGUSR2. Timers and performance.now go on as they were.
const real = Date.now.bind(Date);
let offsetMs = 0;
let direction = 1;
Date.now = () => real() + offsetMs;
process.on('SIGUSR2', () => {
  offsetMs += direction * Number(process.env.HEP_CLOCK_STEP_MS);
  // Forward, back to where it was and as far behind it, and so on.
  direction = direction === 1 ? -2 : 1;
});
