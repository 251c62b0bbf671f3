"""Descriptions of the claims in access and ID tokens, for the docs and the playground."""

ID_TOKEN = {
    "iss": "the issuer, with its slash: this service",
    "aud": "your client id: the token is for your app and no other",
    "sub": "the id of the person in your project; keep them under it",
    "exp": "when it ends, in seconds since 1970",
    "iat": "when it was issued",
    "auth_time": "when the person last signed in",
    "acr": "the level of authentication that was reached, if your request or client asks for one",
    "amr": "what the person showed to reach it (pwd, otp, pop, user, mfa); with acr only",
    "nonce": "the nonce of your request; not in tokens that come from a refresh",
    "at_hash": "ties it to the access token that came along: half of its SHA-256",
    "email": "email address",
    "email_verified": "whether the address is proven",
    "name": "full name",
    "given_name": "given name",
    "family_name": "family name; left out for people without one",
    "picture": "address of the photo; left out for people without one",
}
ACCESS_TOKEN = {
    "iss": "the issuer, with its slash: this service",
    "sub": "the id of the person in your project",
    "aud": "the developer API, which it is for",
    "client_id": "your app",
    "scope": "what it may do",
    "iat": "when it was issued",
    "exp": "when it ends, in seconds since 1970",
    "jti": "a random name of this token",
    "acr": "the level of authentication that was reached, if your request or client asks for one",
    "amr": "what the person showed to reach it; with acr only",
    "auth_time": "when the person last signed in; with acr only",
}
