// What the programs in JavaScript have in common. See cmd/vigil-crash/libraries.go.

export const members = process.argv.slice(2).map((a) => ({ host: a.slice(0, a.lastIndexOf(':')), port: Number(a.slice(a.lastIndexOf(':') + 1)) }))

async function count(client, k) {
  for (let n = 1; ; n++) {
    for (;;) {
      try {
        await client.set(`counter:${k}`, String(n))
        break
      } catch {
        await new Promise((wake) => setTimeout(wake, 10))
      }
    }
    process.stdout.write(`${k} ${n}\n`)
  }
}

// run counts upwards in four keys, each with the client that connect returns, until the input ends.
export function run(connect) {
  for (let k = 0; k < 4; k++) count(connect(), k)
  process.stdin.resume().on('end', () => process.stdout.write('', () => process.exit(0)))
}
