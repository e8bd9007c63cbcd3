import { endSession } from "../../lib/session";

export async function GET() {
  await endSession();
  return new Response("out");
}
