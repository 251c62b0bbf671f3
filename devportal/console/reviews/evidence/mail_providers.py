"""Providers that give a mailbox to anybody: an address there says nothing about who is behind an app."""

# The widely used ones of the world; those with a domain for each country are in _NAMES.
_DOMAINS = frozenset(
    {
        "gmail.com", "googlemail.com", "outlook.com", "hotmail.com", "live.com", "msn.com", "passport.com",
        "icloud.com", "me.com", "mac.com", "aol.com", "aim.com", "ymail.com", "rocketmail.com",
        "proton.me", "protonmail.com", "pm.me", "tutanota.com", "tutanota.de", "tuta.io", "tuta.com", "tutamail.com",
        "keemail.me", "mail.com", "email.com", "usa.com", "post.com", "europe.com", "gmx.com", "gmx.net", "web.de",
        "freenet.de", "t-online.de", "arcor.de", "posteo.de", "posteo.net", "mailbox.org", "bluewin.ch", "laposte.net",
        "orange.fr", "wanadoo.fr", "free.fr", "sfr.fr", "libero.it", "virgilio.it", "tiscali.it", "alice.it", "tin.it",
        "wp.pl", "onet.pl", "o2.pl", "interia.pl", "op.pl", "seznam.cz", "centrum.cz", "email.cz", "azet.sk",
        "freemail.hu", "citromail.hu", "abv.bg", "mail.bg", "ukr.net", "i.ua", "mail.ru", "inbox.ru", "list.ru",
        "bk.ru", "internet.ru", "rambler.ru", "ya.ru", "qq.com", "foxmail.com", "163.com", "126.com", "yeah.net",
        "sina.com", "sina.cn", "sohu.com", "aliyun.com", "naver.com", "daum.net", "hanmail.net", "nate.com",
        "rediffmail.com", "indiatimes.com", "uol.com.br", "bol.com.br", "terra.com.br", "ig.com.br", "walla.co.il",
        "zoho.com", "zohomail.com", "zohomail.eu", "fastmail.com", "fastmail.fm", "hushmail.com", "hush.com",
        "inbox.com", "inbox.lv", "lycos.com", "excite.com", "runbox.com", "disroot.org", "riseup.net", "duck.com",
        "hey.com", "comcast.net", "verizon.net", "att.net", "sbcglobal.net", "bellsouth.net", "cox.net",
        "btinternet.com", "sky.com", "talktalk.net", "virginmedia.com", "bigpond.com", "optusnet.com.au",
        "ziggo.nl", "kpnmail.nl", "xs4all.nl", "telenet.be", "skynet.be", "telia.com", "online.no",
        "mailinator.com", "guerrillamail.com", "yopmail.com", "10minutemail.com", "temp-mail.org", "trashmail.com",
    }
)  # fmt: skip
# The first label of providers that have a domain in many countries: yahoo.co.jp, hotmail.fr, gmx.at, yandex.kz.
_NAMES = frozenset({"yahoo", "hotmail", "live", "outlook", "gmx", "yandex"})
_BELOW_COUNTRIES = frozenset({"co", "com"})


def is_free_mail(domain: str) -> bool:
    """Return whether anybody can have an address at this domain, in any letter case."""
    name = domain.lower().rstrip(".")
    labels = name.split(".")
    return name in _DOMAINS or (labels[0] in _NAMES and _is_of_a_country(labels[1:]))


def _is_of_a_country(labels: list[str]) -> bool:
    """Return whether this is what a country's domains end in: "fr", "com", "co.jp"."""
    return len(labels) == 1 or (len(labels) == 2 and labels[0] in _BELOW_COUNTRIES and len(labels[1]) == 2)
