// The app: a UserManager as `window.manager`, which the test calls like the buttons of an app would.
const settings = await (await fetch("/settings.json")).json();

export const manager = new oidc.UserManager({
  authority: settings.issuer,
  client_id: settings.client_id,
  redirect_uri: `${location.origin}/callback.html`,
  silent_redirect_uri: `${location.origin}/silent.html`,
  popup_redirect_uri: `${location.origin}/silent.html`,
  post_logout_redirect_uri: `${location.origin}/`,
  // Without `offline_access` there is no refresh token, and the library renews in a hidden frame.
  scope: sessionStorage.getItem("scope") ?? "openid email profile offline_access",
  userStore: new oidc.WebStorageStateStore({ store: sessionStorage }),
  automaticSilentRenew: false,
  loadUserInfo: true,
});

// Calls the service's API from another origin.
export async function me(token) {
  const answer = await fetch(new URL("/v1/me", settings.issuer), {
    headers: { Authorization: `Bearer ${token}` },
  });
  return { status: answer.status, body: await answer.json() };
}

window.manager = manager;
window.me = me;
