import { readSession, writeSession } from "../../lib/session";

export async function GET() {
  const views = ((await readSession())?.views ?? 0) + 1;
  await writeSession({ views });
  return Response.json({ views });
}
