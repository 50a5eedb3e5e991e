"""Addresses of people: the start page, profile and consent, invitations, and the manager's pages about people."""

from django.urls import path

from core.people.views import invitations, personal_links, profile, projects, translations

app_name = "people"
urlpatterns = [
    path("", profile.home_show, name="home-show"),
    path("profile/", profile.profile_show, name="profile-show"),
    path("profile/data/", profile.data_download, name="data-download"),
    path("profile/delete/", profile.account_delete, name="account-delete"),
    path("profile/sessions/", profile.session_list, name="session-list"),
    path("profile/sessions/others/end/", profile.session_end_others, name="session-end-others"),
    path("profile/sessions/<str:handle>/end/", profile.session_end, name="session-end"),
    path("profile/tokens/", profile.token_list, name="token-list"),
    path("profile/tokens/<int:token_id>/revoke/", profile.token_revoke, name="token-revoke"),
    path("projects/<slug:slug>/webhooks/", projects.webhook_list, name="webhook-list"),
    path("projects/<slug:slug>/webhooks/<int:webhook_id>/", projects.webhook_show, name="webhook-show"),
    path("projects/<slug:slug>/webhooks/<int:webhook_id>/test/", projects.webhook_test, name="webhook-test"),
    path("projects/<slug:slug>/webhooks/<int:webhook_id>/off/", projects.webhook_turn_off, name="webhook-turn-off"),
    path("projects/<slug:slug>/deliveries/<int:delivery_id>/retry/", projects.delivery_retry, name="delivery-retry"),
    path("join/<str:token>/", profile.invitation_accept, name="invitation-accept"),
    path("link/new/", personal_links.link_renew, name="link-renew"),
    path("link/<str:token>/", personal_links.link_open, name="link-open"),
    path("projects/<slug:slug>/people/<int:pk>/link/", projects.link_replace, name="link-replace"),
    path("projects/<slug:slug>/people/<int:pk>/link/revoke/", projects.link_revoke, name="link-revoke"),
    path("projects/<slug:slug>/consent/", profile.consent_give, name="consent-give"),
    path("projects/<slug:slug>/consent/withdraw/", profile.consent_withdraw, name="consent-withdraw"),
    path("projects/<slug:slug>/log/", projects.log_show, name="log-show"),
    path("projects/<slug:slug>/log/csv/", projects.log_export, name="log-export"),
    path("projects/<slug:slug>/people/", projects.member_list, name="member-list"),
    path("projects/<slug:slug>/people/<int:pk>/remove/", projects.member_remove, name="member-remove"),
    path("projects/<slug:slug>/people/consent/", projects.consent_publish, name="consent-publish"),
    path("projects/<slug:slug>/people/texts/", translations.text_list, name="text-list"),
    path("projects/<slug:slug>/people/texts/<str:kind>/<str:tag>/", translations.text_translate, name="text-translate"),
    path("translations/<str:token>/", translations.review_list, name="review-list"),
    path("translations/<str:token>/<str:kind>/", translations.review_text, name="review-text"),
    path("projects/<slug:slug>/people/invitations/", invitations.invitation_list, name="invitation-list"),
    path("projects/<slug:slug>/people/invitations/csv/", invitations.invitation_export, name="invitation-export"),
    path("projects/<slug:slug>/people/invitations/new/", invitations.invitation_create, name="invitation-create"),
    path("projects/<slug:slug>/people/invitations/addresses/", invitations.invitation_import, name="invitation-import"),
    path("projects/<slug:slug>/people/invitations/change/", invitations.invitation_change, name="invitation-change"),
]
